"""How often a stream was started, and how each run ended, as one fact."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from shlex import quote

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.evidence.case import Case
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.history import find_pauses
from holdfast.evidence.progress import find_progress
from holdfast.judgement.event_log_facts import restarts_in_log
from holdfast.judgement.fact import DRIVER_LOG, Found
from holdfast.judgement.sink_facts import SinkLogFacts
from holdfast.record.layout import RUNS
from holdfast.record.run_history import RunEnd, RunHistory, end_of
from holdfast.record.runs import FAILED, RUNNING, Run
from holdfast.wording import ago, count, duration

NAME = "restarts"
_SHORTEST_PAUSE = timedelta(minutes=1)
_MOST_CHANGES = 3


def find_restarts(case: Case, sinks: tuple[SinkLogFacts, ...]) -> Found:
    """Return the fact: from the record of a guarded stream, otherwise what is certain."""
    record = case.record
    if record is None or record.run is None or record.lease is None:
        return restarts_in_log(case, NAME) or _of_checkpoint(case, sinks)
    newest = f"the newest began {record.run.started_at}, {_say_end(record, record.run)}"
    history = case.history
    if history is None:
        starts = count(record.lease.epoch, "start")
        return Found(NAME, f"{starts}; {newest}", record.run.path)
    if history.unlisted is not None:
        return Found(NAME, f"not all known: {history.unlisted}; {newest}", record.run.path)
    return Found(NAME, f"{_say_counts(history, record)}; {newest}", f"{RUNS}/")


def _say_counts(history: RunHistory, record: GuardRecord) -> str:
    """Return `20 starts: 8 finished, 4 failed`."""
    ends = Counter(end for _, end in ends_of(history, record))
    said = ", ".join(f"{ends[each]} {_COUNTED[each]}" for each in RunEnd if ends[each])
    older = f", {history.older:,} older not read" if history.older else ""
    return f"{count(history.count, 'start')}: {said}{older}"


_COUNTED = {
    RunEnd.FINISHED: "finished",
    RunEnd.STOPPED: "stopped",
    RunEnd.FAILED: "failed",
    RunEnd.LOST: "lost to another driver",
    RunEnd.NOT_RECORDED: "without a recorded end",
    RunEnd.RUNNING: "running",
    RunEnd.UNKNOWN: "not known",
}


def ends_of(history: RunHistory, record: GuardRecord | None) -> list[tuple[str, RunEnd]]:
    """Return how each run ended, by its id, newest first."""
    is_running = record is not None and record.is_running
    newest = None if record is None or record.lease is None else record.lease.epoch
    return [
        (each.run_id, end_of(each, is_running=is_running and each.epoch == newest))
        for each in history.runs
    ]


def _say_end(record: GuardRecord, run: Run) -> str:
    if run.ended == FAILED:
        return f"failed with {run.error}"
    if run.ended != RUNNING:
        return run.ended
    if record.is_running:
        return "it is running: its lease was renewed within its term"
    return "its end was not recorded: it was probably killed"


def _of_checkpoint(case: Case, sinks: tuple[SinkLogFacts, ...]) -> Found:
    """Say what is certain: Spark itself records no start."""
    metadata = case.checkpoint.metadata
    query = metadata.query_id if isinstance(metadata, QueryMetadata) else ""
    pattern = rf"Starting .*\[id = {query}"
    command = f"grep {quote(pattern)} {DRIVER_LOG}"
    newest = find_progress(case.checkpoint).newest_ms
    if newest is None:
        why = "A checkpoint records no start. The driver's log has a line for each"
        return Found(NAME, None, why, command)
    changes = max((each.changes for each in sinks), key=len, default=())
    starts = f"at least {count(len(changes) + 1, 'start')}"
    if changes:
        starts += f" ({'; '.join(changes[-_MOST_CHANGES:])})"
    pauses = [each for each in find_pauses(case.checkpoint) if each.lasted >= _SHORTEST_PAUSE]
    longest = ", ".join(f"{duration(each.lasted)} before batch {each.before}" for each in pauses)
    said = f"; longest pauses {longest}" if pauses else ""
    shown = f"{starts}; the newest batch was planned {ago(newest, case.now)}{said}"
    where = "the times in offsets/" + (" and the sink's log" if changes else "")
    return Found(NAME, shown, where, command)
