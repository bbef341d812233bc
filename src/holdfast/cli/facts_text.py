"""`holdfast facts` for people: the nine facts, then offsets by partition, then every start."""

from __future__ import annotations

from holdfast.cli.diagnosis_text import render_facts
from holdfast.cli.table import columns
from holdfast.evidence.case import Case
from holdfast.evidence.progress import find_progress
from holdfast.judgement.fact import Fact
from holdfast.judgement.restart_facts import ends_of
from holdfast.record.run_history import RunEnd, UnreadRun
from holdfast.record.runs import Run
from holdfast.wording import count

_SHOWN_PARTITIONS = 16
_SHOWN_RUNS = 20
_ALL = "`--format json` lists all"
_ENDS = {
    RunEnd.LOST: "lost its lease, as a rule to another driver",
    RunEnd.NOT_RECORDED: "not recorded: killed, or cut off from the record",
}


def render_all_facts(case: Case, facts: tuple[Fact, ...]) -> list[str]:
    """Return the lines to show."""
    lines = [*render_facts(facts), *_offsets(case), *_restarts(case)]
    if case.event_log is None:
        return lines
    from holdfast.cli.event_log_text import render_event_log  # noqa: PLC0415 - on request

    return [*lines, *render_event_log(case.event_log, case.newest_committed)]


def _offsets(case: Case) -> list[str]:
    """Return a table with the offset of each partition; nothing for a source without partitions."""
    progress = find_progress(case.checkpoint)
    rows = [
        (f"  source {each.source}", topic, f"{partition}", f"{offset:,}")
        for each in progress.sources
        for (topic, partition), offset in (each.end.parts() if each.end else ())
    ]
    if not rows:
        return []
    heads = ("  source", "topic", "partition", "next offset")
    more = len(rows) - _SHOWN_PARTITIONS
    rest = [f"  and {count(more, 'partition')} more: {_ALL}"] if more > 0 else []
    title = f"Offsets by partition (offsets/{progress.planned[-1]}):"
    return ["", title, *columns([heads, *rows[:_SHOWN_PARTITIONS]]), *rest]


def _restarts(case: Case) -> list[str]:
    """Return a table with every start of a guarded stream."""
    history = case.history
    if history is None or not history.runs:
        return []
    ends = dict(ends_of(history, case.record))
    rows = [_run_row(each, ends[each.run_id]) for each in history.runs[:_SHOWN_RUNS]]
    heads = ("  epoch", "generation", "began", "ended", "Spark", "run", "batches", "how")
    more = history.count - len(rows)
    rest = [f"  and {count(more, 'older start')}: {_ALL}"] if more > 0 else []
    return ["", "Starts, newest first:", *columns([heads, *rows]), *rest]


def _run_row(run: Run | UnreadRun, end: RunEnd) -> tuple[str, ...]:
    if isinstance(run, UnreadRun):
        unread = f"not known: {run.path}: {run.why}"
        return f"  {run.epoch}", "-", "-", "-", "-", run.run_id, "-", unread
    how = f"failed with {run.error or 'an error'}" if end is RunEnd.FAILED else _ENDS.get(end, end)
    last = "?" if run.last_batch is None else f"{run.last_batch}"
    return (
        f"  {run.epoch}",
        f"{run.generation}",
        _time(run.started_at),
        _time(run.ended_at) or "-",
        run.spark,
        run.run_id,
        f"{run.first_batch} … {last}",
        how,
    )


def _time(text: str) -> str:
    return text.replace("T", " ").replace("+00:00", " UTC")
