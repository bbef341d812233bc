"""What Holdfast's record says of a stream, in the form that has a version."""

from __future__ import annotations

import msgspec

from holdfast.evidence.guard_record import GuardRecord, UnreadableRecord
from holdfast.report.envelope import fill


class LeaseJson(msgspec.Struct):
    """The newest lease of a guarded stream."""

    epoch: int
    owner: str
    released: bool
    renewed: str | None


class RunJson(msgspec.Struct):
    """The newest run of a guarded stream."""

    epoch: int
    spark: str
    started_at: str
    ended: str
    ended_at: str
    last_batch: int | None
    error: str


class RecordJson(msgspec.Struct):
    """What Holdfast's record says of the stream; only `why_not` when it could not be read."""

    stream: str | None = None
    generation: int | None = None
    newest_generation: int | None = None
    lease: LeaseJson | None = None
    run: RunJson | None = None
    sinks: tuple[str, ...] = ()
    has_ledgers: bool = False
    is_running: bool = False
    why_not: str | None = None


def record_json(record: GuardRecord | UnreadableRecord | None) -> RecordJson | None:
    """Return the record in the form that has a version; None without one."""
    if record is None:
        return None
    if isinstance(record, UnreadableRecord):
        return RecordJson(why_not=record.why)
    lease, renewed = record.lease, record.renewed
    at = None if renewed is None else renewed.isoformat(timespec="seconds")
    return fill(
        RecordJson,
        record,
        generation=record.generation.number,
        lease=lease and fill(LeaseJson, lease, owner=str(lease.owner), renewed=at),
        run=record.run and fill(RunJson, record.run),
        sinks=() if record.contract is None else record.contract.sinks,
    )
