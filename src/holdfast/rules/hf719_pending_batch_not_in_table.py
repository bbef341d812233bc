"""HF719: the Delta table does not hold the pending batch, and takes it.

## What it finds

A batch is pending, and the Delta table does not hold it: its newest batch is the one before, or
nothing was written since the batch was planned.

## What Spark does

Spark runs the batch again with the same range, and the table takes it once.

## What to do

Start the query.

## What it cannot see

Other sinks that the same function writes.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import (
    delta_holdings,
    is_strange,
    pending_batch,
    planned_ms,
    reaches,
    written_since,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    batch = pending_batch(case)
    if batch is None:
        return
    for holding in delta_holdings(case):
        output, since = holding.output, planned_ms(case, batch)
        if holding.batch is None:
            is_known = since is not None and reaches(output, since)
            is_absent = is_known and written_since(output, since or 0) is None
        else:
            is_absent = holding.batch == batch - 1
        if not is_absent or output.newest < 0 or is_strange(case, holding):
            continue
        yield RULE.find(
            what=(
                f"Batch {batch} is pending, and {output.shown} does not hold it. Spark runs it "
                "again with the same range, and the table takes it once."
            ),
            how="Start the query.",
            follows_from=(f"offsets/{batch}", *holding.files(output.newest)),
        )


RULE = Rule(
    code="HF719",
    name="pending-batch-not-in-table",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
