"""What Spark's event log says against a checkpoint: it is older, edited, or no longer the one."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.event_log import compare_offsets
from holdfast.formats.event_log.history import EventLogHistory
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, rule
from holdfast.wording import batch_range


@rule("HF120", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def checkpoint_behind_event_log(case: Case) -> Iterator[Finding]:
    """The event log has committed batches that the checkpoint does not have."""
    history = case.event_log
    if not isinstance(history, EventLogHistory):
        return
    ran = [each for each in history.runs if each.last_batch is not None]
    last = max(ran, key=lambda each: each.last_batch or 0, default=None)
    if last is None or last.last_batch is None or last.last_batch <= case.newest_committed:
        return
    first = case.newest_committed + 1
    yield checkpoint_behind_event_log.find(
        what=(
            f"Spark's event log says that {batch_range(first, last.last_batch)} of this query "
            f"ran and were committed, the last one in run {last.run_id}. The newest commit entry "
            f"here is {case.newest_committed}. {spark_will(case)} run them again."
        ),
        how=(
            "Find the newest copy of the checkpoint before you start it: this one was restored, "
            "copied or rewound. If none is there, add --sink to see which batches the sink has."
        ),
        accepting="the batches after the newest commit entry are written again",
        follows_from=(f"event log, {last.application}", f"commits/{case.newest_committed}"),
    )


@rule("HF121", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.RESUME)
def offsets_differ_from_event_log(case: Case) -> Iterator[Finding]:
    """An offset entry ends elsewhere than the batch of that number did."""
    history = case.event_log
    if not isinstance(history, EventLogHistory):
        return
    different = compare_offsets(history, case.checkpoint).different
    if not different:
        return
    first = different[0]
    more = f" So do {len(different) - 1} more." if len(different) > 1 else ""
    ends = "; ".join(f"{each.end}" for each in first.sources)
    yield offsets_differ_from_event_log.find(
        what=(
            f"offsets/{first.batch_id} does not end where batch {first.batch_id} ended by Spark's "
            f"event log, which is {ends[:300]}.{more} The entry was edited, or the checkpoint is "
            "that of another run of these batches. What lies between is skipped or repeated."
        ),
        how=(
            "Compare the entry with the event log (`holdfast facts --format json` has every "
            "batch), and restore the checkpoint that the last run wrote."
        ),
        accepting="the range between the two positions is skipped or written again",
        follows_from=(f"offsets/{first.batch_id}", f"event log, batch {first.batch_id}"),
    )


@rule("HF122", Severity.RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def query_started_elsewhere(case: Case) -> Iterator[Finding]:
    """A query of the same name was started since, with another query id."""
    history = case.event_log
    newest = history.newest if isinstance(history, EventLogHistory) else None
    if not isinstance(history, EventLogHistory) or newest is None or newest.name is None:
        return
    later = [
        each
        for each in history.others
        if each.name == newest.name and each.began_at > (newest.began_at or "")
    ]
    if not later:
        return
    last = max(later, key=lambda each: each.began_at)
    yield query_started_elsewhere.find(
        what=(
            f"The query {newest.name} was last started on this checkpoint at {newest.began_at}. "
            f"Since then a query of that name was started with the id {last.query_id}, at "
            f"{last.began_at}: it has another checkpoint. If it does the same work, a start here "
            "writes what it has written again."
        ),
        how=(
            "Find out which checkpoint the query uses now, in its program or by `holdfast inspect` "
            "on the directory of checkpoints, and look at that one."
        ),
        follows_from=(f"event log, {last.application}", "metadata"),
    )
