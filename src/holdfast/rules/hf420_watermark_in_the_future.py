"""HF420: the watermark is ahead of time, and rows with correct times are dropped.

## What it finds

The watermark in the newest log entries is more than an hour later than the time of the batch. One
record with an event time far in the future is enough, and the watermark never goes back.

## What Spark does

Spark keeps the watermark in the checkpoint and starts with it. Rows with correct event times are
late: windowed aggregations, deduplications and joins drop them silently. Windows that were
open are closed early. A restart does not help.

## What to do

Filter event times in the future before `withWatermark`. Take the query back to the batch before the
jump, together with the sink, or reset it and read again what was dropped. Changing the number in
the files does not bring back the state that was closed.

## What accepting does

Spark starts and drops every row whose event time is before the watermark.

## What it cannot see

Event times that are meant to be in the future, such as bookings. Then nothing is lost.

## Where this comes from

- Spark 4.2.0, `updateWatermark` in
  [WatermarkTracker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/WatermarkTracker.scala)
- Spark 4.2.0, `late event filtering watermark` in
  [statefulOperators.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/operators/stateful/statefulOperators.scala)
- Measured, in the repository, by `python -m campaigns.situations poisoned-watermark`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.commits import CommitEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import REWIND, plan_command
from holdfast.rules.log_entries import HOUR_MS, moment_text, span_text, with_settings
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
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
    yield RULE.find(
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


RULE = Rule(
    code="HF420",
    name="watermark-in-the-future",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
