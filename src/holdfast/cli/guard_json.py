"""What Holdfast's record says of a stream, in the form that has a version."""

from __future__ import annotations

from holdfast.cli.inspect_form import LeaseJson, RecordJson, RunJson
from holdfast.evidence.guard_record import GuardRecord, UnreadableRecord


def record_json(record: GuardRecord | UnreadableRecord | None) -> RecordJson | None:
    """Return the record in the form that has a version; None without one."""
    if record is None:
        return None
    if isinstance(record, UnreadableRecord):
        return RecordJson(why_not=record.why)
    return RecordJson(
        stream=record.stream,
        generation=record.generation.number,
        newest_generation=record.newest_generation,
        lease=_lease(record),
        run=_run(record),
        sinks=() if record.contract is None else record.contract.sinks,
        has_ledgers=record.has_ledgers,
        is_running=record.is_running,
    )


def _lease(record: GuardRecord) -> LeaseJson | None:
    if record.lease is None:
        return None
    return LeaseJson(
        epoch=record.lease.epoch,
        owner=str(record.lease.owner),
        released=record.lease.released,
        renewed=None if record.renewed is None else record.renewed.isoformat(timespec="seconds"),
    )


def _run(record: GuardRecord) -> RunJson | None:
    if record.run is None:
        return None
    return RunJson(
        epoch=record.run.epoch,
        spark=record.run.spark,
        started_at=record.run.started_at,
        ended=record.run.ended,
        ended_at=record.run.ended_at,
        last_batch=record.run.last_batch,
        error=record.run.error,
    )
