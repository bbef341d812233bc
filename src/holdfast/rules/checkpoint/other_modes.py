"""Progress that is tracked in another way, and names that are taken."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import COMMITS
from holdfast.evidence.case import Case
from holdfast.evidence.obstacles import Obstacle, find_obstacles
from holdfast.evidence.outcomes import Refuses, Resumes, RunsAgain, Unknown, UnknownCause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.entry_figures import batches_text
from holdfast.rules.predicted import find_refusal, spark_will
from holdfast.rules.rule import Finding, rule


@rule("HF220", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def async_progress(case: Case) -> Iterator[Finding]:
    """The logs have gaps, as async progress tracking writes them."""
    start = case.next_start
    if isinstance(start, Unknown) and start.cause is UnknownCause.ASYNC_PROGRESS:
        yield async_progress.find(
            what=f"What Spark will do depends on how it is started: {start.because}.",
            how=(
                "Start with async progress tracking, or run two batches with an interval of 0 "
                "before you turn it off."
            ),
            follows_from=start.follows_from,
            is_predicted=True,
        )


@rule("HF221", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def continuous_processing(case: Case) -> Iterator[Finding]:
    """The checkpoint was written by continuous processing."""
    start = case.next_start
    if isinstance(start, Unknown) and start.cause is UnknownCause.CONTINUOUS:
        yield continuous_processing.find(
            what=f"What Spark will do depends on how it is started: {start.because}.",
            how="Start the query with a continuous trigger.",
            follows_from=start.follows_from,
            is_predicted=True,
        )


@rule("HF224", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def logs_behind_state(case: Case) -> Iterator[Finding]:
    """The state is newer than the logs: the logs were taken back."""
    planned = case.newest_planned
    if case.overview is None or planned < 0:
        return
    files = [
        (file.version, f"{store.directory}/{file.name}", file.unique_id)
        for operator in case.checkpoint.state
        for store in operator.stores
        for file in store.files
        if file.size_bytes  # Spark writes no empty one
    ]
    newest = max(files, default=None, key=lambda each: each[0])
    # Batch N writes version N + 1; real-time mode, which needs format 2, writes offsets afterwards.
    if newest is None or newest[0] <= planned + (1 if newest[2] is None else 2):
        return
    last = newest[0] - 1
    again = batches_text(range(planned + 1, last + 1))
    yield logs_behind_state.find(
        what=(
            f"{spark_will(case)} plan {again} again with other ranges: the state "
            f"shows that batch {last} has run, but the newest offset entry is {planned}. Rows "
            "that these batches wrote are duplicated, or dropped by a sink that knows their "
            "numbers."
        ),
        how=f"Restore the log entries up to {last}, or take the sink back to batch {planned} too.",
        accepting=f"Spark plans {again} again, with other ranges",
        follows_from=(newest[1], f"offsets/{planned}"),
    )


@rule("HF225", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def named_sink_changed(case: Case) -> Iterator[Finding]:
    """The query writes to another sink than before."""
    active = [
        (batch, frozenset(sink.name for sink in commit.sinks or () if sink.is_active))
        for batch, commit in case.checkpoint.commits.items()
        if isinstance(commit, CommitEntry) and commit.sinks
    ]
    if case.overview is None or not active:
        return
    newest = active[-1][1]
    other = next(((batch, sinks) for batch, sinks in reversed(active) if sinks != newest), None)
    if other is None:
        return
    batch, before = other
    yield named_sink_changed.find(
        what=(
            f"{spark_will(case)} continue in the sink {', '.join(sorted(newest))}; up to batch "
            f"{batch} the query wrote to {', '.join(sorted(before))}, which gets no more rows."
        ),
        how="Check that the change was meant, and that the new sink needs no earlier batches.",
        follows_from=(f"commits/{batch}", f"commits/{case.newest_committed}"),
    )


_HOW = "Check that no query runs, then move {} out of the checkpoint."


@rule("HF228", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def name_taken(case: Case) -> Iterator[Finding]:
    """Something is in the place of an entry that Spark reads or writes next."""
    start = case.next_start
    if isinstance(start, Refuses):
        yield from find_refusal(name_taken, case, how=_HOW.format(", ".join(start.follows_from)))
        return
    if not isinstance(start, Resumes | RunsAgain):
        return
    by_checksum = {f"{COMMITS}/.{start.batch_id}.crc"}  # another rule speaks of a lone checksum
    for each in find_obstacles(case.checkpoint):
        is_told = each.path in by_checksum and each.path in case.checkpoint.lone_sidecars
        if not each.is_read and not is_told:
            yield _find_later(each)
            return


def _find_later(each: Obstacle) -> Finding:
    reached = ", after the sink has the batch" if each.entry.startswith(f"{COMMITS}/") else ""
    return name_taken.find(
        what=(f"Spark will start, and fail when it writes {each.entry}{reached}: {each.because}."),
        how=_HOW.format(each.path),
        accepting="Spark decides; it fails as described, at every start",
        follows_from=(each.path,),
    )
