"""HF718: the Delta table holds the pending batch and skips it.

## What it finds

A batch is pending, and the Delta table holds it. The driver stopped after the write and before the
commit entry.

## What Spark does

Spark runs the batch again with the same range. Delta recognises its number and skips it. Nothing is
duplicated.

## What to do

Start the query. Do not delete the offset entry: Spark would plan a larger batch under the same
number, and Delta would skip that.

## What it cannot see

Whether the query's code still writes under the same application id.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-killed-after-write`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import (
    delta_holdings,
    is_forgotten,
    is_planned_later,
    pending_batch,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    batch = pending_batch(case)
    if batch is None:
        return
    for holding in delta_holdings(case):
        commit = holding.newest_commit
        if holding.batch != batch or is_forgotten(case, holding.output, commit):
            continue
        if is_planned_later(case, batch, commit):
            continue
        yield RULE.find(
            what=(
                f"Batch {batch} is pending, and {holding.output.shown} holds it. Spark runs it "
                "again with the same range, and Delta skips it: nothing is duplicated."
            ),
            how=f"Start the query, and leave offsets/{batch} where it is.",
            follows_from=(
                f"offsets/{batch}",
                *holding.files(*(each.version for each in (commit,) if each)),
            ),
        )


RULE = Rule(
    code="HF718",
    name="pending-batch-in-table",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
