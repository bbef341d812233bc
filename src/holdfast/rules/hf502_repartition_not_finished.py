"""HF502: a repartitioning of the state was not finished.

## What it finds

A pending batch records another number of shuffle partitions than the batch before it. A
repartitioning of the state was interrupted, or the entry was edited.

## What Spark does

Spark 4.2 and later refuse with `STREAMING_UNFINISHED_REPARTITION_DETECTED`. Older versions start
and use the new number on state that has the old one.

## What to do

Finish the repartitioning with the same number of partitions. If there was none, restore the entry.

## Where this comes from

- Spark 4.2.0, `checkUnfinishedRepartitionBatch` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `STREAMING_UNFINISHED_REPARTITION_DETECTED` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Finish the repartitioning with the same number, or restore the entry."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF502",
    name="repartition-not-finished",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
