"""What Holdfast's record says of a stream, for people on call."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from holdfast.evidence.guard_record import GuardRecord, UnreadableRecord
from holdfast.record.owner import is_certainly_dead
from holdfast.record.runs import FAILED, LOST, RUNNING
from holdfast.wording import ago


def say_driver(record: GuardRecord | None, now: datetime) -> list[str]:
    """Say that a driver is running the stream, where its lease shows it."""
    if record is None or record.lease is None or not record.is_running:
        return []
    return [
        f"Driver {record.lease.owner} is running {record.stream} now ({_heartbeat(record, now)}). "
        "A pending batch is normal while a driver runs."
    ]


def render_guard(record: GuardRecord | None, now: datetime) -> Iterator[tuple[str, ...]]:
    """Yield rows about the stream: its generation, its lease and its newest run."""
    if record is None:
        return
    number = f"{record.generation.number}"
    if record.is_replaced:
        number += f", replaced by generation {record.newest_generation}"
    yield "  stream", record.stream, "generation", number
    if record.lease is not None:
        yield (
            "  lease",
            f"epoch {record.lease.epoch}, {record.lease.owner}",
            "state",
            _lease(record, now),
        )
    if record.run is not None:
        spark = f"Spark {record.run.spark}"
        yield "  last run", f"{spark}, started {_time(record.run.started_at)}", "end", _end(record)
    if record.contract is not None:
        yield "  into", ", ".join(record.contract.sinks), "duplicates", _duplicates(record)


def say_unchecked(
    record: GuardRecord | UnreadableRecord | None,
    *,
    is_probed: bool = False,
    unanswered: str | None = None,
) -> str:
    """Say what is not checked.

    Args:
        record: Of the stream.
        is_probed: Whether every source has said what it can still give.
        unanswered: Why a source that was to be asked did not say what it has.
    """
    how = "--probe" if unanswered is None else f"it could not be asked: {unanswered}"
    source = "" if is_probed else f", whether the source still has the data ({how})"
    if isinstance(record, GuardRecord):
        return f"the sinks and their ledgers{source}"
    if record is None:
        return f"the sinks{source}, whether a driver is running"
    return f"the sinks{source}, Holdfast's record of the stream ({record.why.rstrip('.')})"


def _heartbeat(record: GuardRecord, now: datetime) -> str:
    assert record.renewed is not None
    return f"heartbeat {ago(int(record.renewed.timestamp() * 1000), now)}"


def _lease(record: GuardRecord, now: datetime) -> str:
    assert record.lease is not None
    if record.lease.released:
        return "released: no driver is running"
    if is_certainly_dead(record.lease.owner):
        return "the owner's process has ended: a start does not wait"
    if record.is_running:
        return f"held, {_heartbeat(record, now)}"
    term = f"a start waits up to {record.lease.term_s:.0f} s"
    return f"not released, {_heartbeat(record, now)}: the driver was probably killed; {term}"


def _end(record: GuardRecord) -> str:
    run = record.run
    assert run is not None
    if run.ended == RUNNING:
        return "not recorded: it is running, or it was killed"
    last = "" if run.last_batch is None else f" after batch {run.last_batch}"
    said = {FAILED: f"failed with {run.error}", LOST: "lost its lease, as a rule to another driver"}
    return f"{said.get(run.ended, run.ended)}{last}, {_time(run.ended_at)}"


def _duplicates(record: GuardRecord) -> str:
    if record.has_ledgers:
        return "prevented by the ledger in each sink, with hf.start"
    return "possible: a sink has no ledger"


def _time(text: str) -> str:
    """Return a time of the record as the other lines show times."""
    return text.replace("T", " ").replace("+00:00", " UTC")
