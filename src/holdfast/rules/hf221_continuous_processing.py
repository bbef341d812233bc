"""HF221: the checkpoint was written by continuous processing.

## What it finds

No offset entry records settings. Continuous processing writes such entries.

## What Spark does

With a continuous trigger the query continues after its newest committed epoch, and repeats what
came after it. With micro-batches Spark refuses to start.

## What to do

Start with a continuous trigger, or begin a new checkpoint at the offsets of the newest committed
epoch.

## Where this comes from

- Spark 4.2.0, `getStartOffsets` in
  [ContinuousExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/continuous/ContinuousExecution.scala)
- Spark's documentation:
  [Continuous Processing](https://spark.apache.org/docs/latest/streaming/performance-tips.html#continuous-processing)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Unknown, UnknownCause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if isinstance(start, Unknown) and start.cause is UnknownCause.CONTINUOUS:
        yield RULE.find(
            what=f"What Spark will do depends on how it is started: {start.because}.",
            how="Start the query with a continuous trigger.",
            follows_from=start.follows_from,
        )


RULE = Rule(
    code="HF221",
    name="continuous-processing",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
