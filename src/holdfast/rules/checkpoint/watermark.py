"""The watermark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import REWIND, plan_command
from holdfast.rules.entry_figures import DAY_MS, HOUR_MS, moment_text, span_text, with_settings
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, rule


@rule("HF420", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.REPLAY)
def watermark_in_the_future(case: Case) -> Iterator[Finding]:
    """The watermark is ahead of time, and rows with correct times are dropped."""
    entries = with_settings(case.checkpoint)
    if not entries:
        return
    batch, newest = entries[-1]
    commit = case.checkpoint.commits.get(batch)
    after = commit.next_watermark_ms if isinstance(commit, CommitEntry) else None
    watermark = max(newest.batch_watermark_ms, after or 0)
    ahead = watermark - newest.batch_timestamp_ms
    if ahead <= HOUR_MS:
        return
    jumped = next((each for each, found in entries if found.batch_watermark_ms == watermark), batch)
    yield watermark_in_the_future.find(
        what=(
            f"Spark will drop every row with an event time before {moment_text(watermark)} as "
            f"late: that is {span_text(ahead)} after batch {batch} began. Spark logs nothing. The "
            f"watermark is that of batch {jumped}, and it never goes back."
        ),
        how=(
            "Filter event times in the future before withWatermark, and take query and sink back "
            f"to a batch before {jumped}{_command(case, jumped)}."
        ),
        accepting="rows with an event time before the watermark are dropped",
        follows_from=(f"offsets/{batch}", f"commits/{batch}"),
    )


def _command(case: Case, jumped: int) -> str:
    if case.root is None or jumped < 1:
        return ""
    return f" with {plan_command(case, REWIND, f'--to-batch {jumped - 1}')}"


_TIMES, _LEAST_WATERMARK_JUMPED = 10, 3


@rule("HF421", Severity.NOTE, Confidence.LIKELY, Effect.LOSES, Goal.NONE)
def watermark_jumped(case: Case) -> Iterator[Finding]:
    """The watermark moved by days in one batch."""
    if case.overview is None:
        return
    steps = [
        (
            later.batch_watermark_ms - earlier.batch_watermark_ms,
            later.batch_timestamp_ms - earlier.batch_timestamp_ms,
            batch,
        )
        for (_, earlier), (batch, later) in pairwise(with_settings(case.checkpoint))
        if earlier.batch_watermark_ms > 0
    ]
    if len(steps) < _LEAST_WATERMARK_JUMPED:
        return
    moved, took, batch = max(steps)
    others = max((step for step, _, each in steps if each != batch), default=0)
    if moved < DAY_MS or moved < _TIMES * max(others, took):
        return
    yield watermark_jumped.find(
        what=(
            f"With batch {batch} the watermark moved by {span_text(moved)} in {span_text(took)}. "
            "Spark will drop older rows that still arrive as late."
        ),
        how=f"Look at the event times of batch {batch - 1}, and filter those that are wrong.",
        follows_from=(f"offsets/{batch}",),
    )


_LEAST_WATERMARK_STUCK = 10


@rule("HF422", Severity.RISK, Confidence.LIKELY, Effect.NONE, Goal.RESUME)
def watermark_stuck(case: Case) -> Iterator[Finding]:
    """The watermark does not move although data arrives."""
    entries = [each for each in case.checkpoint.offsets.values() if isinstance(each, OffsetEntry)]
    newest = entries[-1].metadata if entries else None
    if case.overview is None or newest is None or newest.batch_watermark_ms <= 0:
        return
    same = []
    for entry in reversed(entries):
        found = entry.metadata
        if found is None or found.batch_watermark_ms != newest.batch_watermark_ms:
            break
        same.append((found.batch_timestamp_ms, entry.offsets))
    span = same[0][0] - same[-1][0]
    moved = len({offsets for _, offsets in same})
    if moved < _LEAST_WATERMARK_STUCK or span < HOUR_MS:
        return
    yield watermark_stuck.find(
        what=(
            f"The watermark has been {moment_text(newest.batch_watermark_ms)} for {len(same)} "
            f"batches and {span_text(span)}, although data arrived. {spark_will(case)} continue "
            "with it: state grows, and windows are not emitted."
        ),
        how="Find the input whose event times do not move.",
        follows_from=(f"offsets/{entries[-1].batch_id}",),
    )
