"""HF220: the logs have gaps, as async progress tracking writes them.

## What it finds

Both logs lack the batch before the newest one. Async progress tracking does not write an entry for
every batch.

## What Spark does

With async progress tracking the query continues. Without it Spark refuses with `batch N doesn't
exist`.

## What to do

Start the query with async progress tracking. To turn it off, run it first with
`asyncProgressTrackingCheckpointIntervalMs=0` until the two newest batches have entries.

## Where this comes from

- Spark 4.2.0, `validateOffsetLogAndGetPrevOffset` in
  [AsyncProgressTrackingMicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/AsyncProgressTrackingMicroBatchExecution.scala)
- Spark's documentation:
  [Asynchronous Progress Tracking](https://spark.apache.org/docs/latest/streaming/performance-tips.html#asynchronous-progress-tracking)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Unknown, UnknownCause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if isinstance(start, Unknown) and start.cause is UnknownCause.ASYNC_PROGRESS:
        yield RULE.find(
            what=f"What Spark will do depends on how it is started: {start.because}.",
            how=(
                "Start with async progress tracking, or run two batches with an interval of 0 "
                "before you turn it off."
            ),
            follows_from=start.follows_from,
        )


RULE = Rule(
    code="HF220",
    name="async-progress",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
