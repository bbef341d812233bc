"""HF501: a pending batch does not record its shuffle partitions.

## What it finds

A pending batch, or the one before it, does not record `spark.sql.shuffle.partitions`.

## What Spark does

Spark 4.2.0 fails with `None.get`. Spark 4.2.1 and all other versions start.

## What to do

Start with Spark 4.2.1, or restore the entry.

## Where this comes from

- Spark 4.2.0, `isRepartitionBatch` in
  [OfflineStateRepartitionUtils.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/OfflineStateRepartitionUtils.scala)
- Spark 4.2.0, `checkUnfinishedRepartitionBatch` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Start with Spark 4.2.1, or restore the entry."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF501",
    name="partitions-not-pinned",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
