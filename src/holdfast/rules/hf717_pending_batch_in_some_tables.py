"""HF717: the pending batch is in one Delta table and not in another.

## What it finds

The query writes several Delta tables, and the pending batch is in some of them only. The driver
stopped between two writes.

## What Spark does

Spark runs the pending batch again. Tables that hold it skip it; the others take it. Afterwards all
tables have it once. Until then they differ by one batch.

## What to do

Start the query. Do not compare the tables before it has run the batch.

## Where this comes from

- Delta 4.4.0, `hasBeenExecuted` in
  [DeltaCommand.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/commands/DeltaCommand.scala)
- Delta's documentation:
  [Idempotent table writes in foreachBatch](https://docs.delta.io/delta-streaming/#idempotent-table-writes-in-foreachbatch)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import delta_holdings, is_forgotten, pending_batch
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    batch = pending_batch(case)
    if batch is None:
        return
    known = [
        each
        for each in delta_holdings(case)
        if each.batch is not None and not is_forgotten(case, each.output, each.newest_commit)
    ]
    having = [each.output.shown for each in known if each.batch == batch]
    lacking = [each.output.shown for each in known if each.batch == batch - 1]
    if having and lacking:
        yield RULE.find(
            what=(
                f"Batch {batch} is pending. It is in {', '.join(having)} and not in "
                f"{', '.join(lacking)}. Spark runs it again: tables that hold it skip it."
            ),
            how="Start the query, and compare the tables only after that batch.",
            follows_from=(f"offsets/{batch}", *having, *lacking),
        )


RULE = Rule(
    code="HF717",
    name="pending-batch-in-some-tables",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.OUTPUT,
    judge=_judge,
)
