"""Spark's event log for people: every start, how the batches went, and what the log has not."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from holdfast.cli.table import columns
from holdfast.evidence.event_log import say_incomplete
from holdfast.formats.event_log.history import (
    EventLog,
    EventLogHistory,
    NotReadLog,
    QueryRun,
    RunEnding,
)
from holdfast.wording import count, size

_SHOWN_RUNS = 20
_SHOWN_OTHERS = 5
_ALL = "`--format json` lists all"
_ENDINGS = {
    RunEnding.ENDED: "ended without an exception",
    RunEnding.NOT_IN_LOG: "not in the log: killed, or running",
}


def render_event_log(found: EventLog | None, newest_committed: int) -> list[str]:
    """Return the lines to show; none without an event log.

    Args:
        found: As it was read.
        newest_committed: The newest batch that the checkpoint has committed; -1 without any.
    """
    if found is None or isinstance(found, NotReadLog):
        return []
    lines = ["", *_runs(found), *_batches(found)]
    missing = say_incomplete(found, newest_committed)
    if missing:
        lines += ["", "The history is not complete:", *(f"  {each}" for each in missing)]
    return [*lines, *_others(found)]


def _runs(found: EventLogHistory) -> Iterator[str]:
    title = f"Event log {found.location}, {count(found.applications, 'application')}"
    if not found.runs:
        yield f"{title}: no start of this query."
        return
    yield f"{title}; starts, newest first:"
    heads = ("  began", "Spark", "run", "batches", "rows", "end")
    shown = [_row(each) for each in reversed(found.runs[-_SHOWN_RUNS:])]
    yield from columns([heads, *shown])
    more = found.count - len(shown)
    if more > 0:
        yield f"  and {count(more, 'older start')}: {_ALL}"


def _row(run: QueryRun) -> tuple[str, ...]:
    began = (run.began_at or "before the log").replace("T", " ").replace("Z", " UTC")
    span = "none" if run.first_batch is None else f"{run.first_batch} … {run.last_batch}"
    if run.begun_batch is not None and run.begun_batch != run.last_batch:
        span += f", began {run.begun_batch}"
    how = _ENDINGS.get(run.ending) or f"failed with {run.error_line}"
    return f"  {began}", run.spark or "-", run.run_id, span, f"{run.rows:,}", how


def _batches(found: EventLogHistory) -> Iterator[str]:
    newest = found.newest_batch
    if newest is None:
        return
    times = [each.durations_ms.get("triggerExecution", 0) for each in found.batches]
    logs = [
        each.durations_ms.get("walCommit", 0) + each.durations_ms.get("commitOffsets", 0)
        for each in found.batches
    ]
    yield (
        f"  {count(found.batch_count, 'batch')}; of the newest {len(times):,}: median "
        f"{median(times):,.0f} ms, of which {median(logs):,.0f} ms for the checkpoint's logs"
    )
    for each in newest.states:
        memory = "" if each.memory_bytes is None else f", {size(each.memory_bytes)} of memory"
        rows = "rows not known" if each.rows is None else count(each.rows, "row")
        yield f"  state of {each.operator} after batch {newest.batch_id}: {rows}{memory}"


def _others(found: EventLogHistory) -> Iterator[str]:
    if found.runs or not found.others:
        return
    yield ""
    yield "Other queries in these logs:"
    for each in found.others[-_SHOWN_OTHERS:]:
        yield f"  {each.query_id} {each.name or 'without a name'}, started {each.began_at}"
    more = len(found.others) - _SHOWN_OTHERS
    if more > 0:
        yield f"  and {count(more, 'more')}: {_ALL}"
