"""HF503: few batches are kept: the query can hardly be taken back.

## What it finds

The logs begin after batch 0 and hold fewer than ten batches.
`spark.sql.streaming.minBatchesToRetain` is far below its default of 100.

## What Spark does

A restart is not affected. Spark keeps that many batches and one more.

## What to do

Leave the setting at its default, unless the size of the state forces a smaller number.

## Where this comes from

- Spark 4.2.0, `MIN_BATCHES_TO_RETAIN` in
  [SQLConf.scala](https://github.com/apache/spark/blob/v4.2.0/sql/catalyst/src/main/scala/org/apache/spark/sql/internal/SQLConf.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_FEW = 10


def _judge(case: Case) -> Iterator[Finding]:
    offsets = case.checkpoint.offsets
    is_partly_read = case.checkpoint.first_read is not None
    if case.overview is None or is_partly_read or not offsets or min(offsets) == 0:
        return
    if len(offsets) >= _FEW:
        return
    yield RULE.find(
        what=(
            f"The query can be taken back to {len(offsets) - 1} batches at most, because "
            f"spark.sql.streaming.minBatchesToRetain is about {max(len(offsets) - 1, 1)}."
        ),
        how="Raise spark.sql.streaming.minBatchesToRetain, whose default is 100.",
        follows_from=(f"offsets/{min(offsets)}", f"offsets/{max(offsets)}"),
    )


RULE = Rule(
    code="HF503",
    name="few-batches-kept",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
