"""HF715: a committed batch left nothing in the table: its write was likely skipped or failed.

## What it finds

A function for `foreachBatch` writes its batch number with every commit, and the Delta table has no
commit for a batch that the checkpoint has committed. It is *likely*: it holds unless the function
writes nothing for an empty batch.

## What Spark does

Spark commits a batch when the function returns. A function that catches the exception of its write
returns, and the batch is never run again. Its rows are lost.

## What to do

Let the function raise the exception. Write the ranges of the named batches with a batch job; they
are in `offsets/` as long as Spark keeps them.

## What it cannot see

Whether the batch had any rows.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [ForeachBatchSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sources/ForeachBatchSink.scala)
- Spark 4.2.0, `markMicroBatchEnd` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-error-swallowed`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.delta_batches import delta_holdings, listed
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for holding in delta_holdings(case):
        application, held = holding.application, holding.batch
        if application is None or holding.is_native or held is None:
            continue
        there = {
            each.transactions[application]
            for each in holding.output.commits
            if application in each.transactions
        }
        if not there or held > case.newest_planned:
            continue
        gone = [
            batch for batch in case.checkpoint.commits if batch > min(there) and batch not in there
        ]
        if not gone:
            continue
        yield RULE.find(
            what=(
                f"The checkpoint has committed {listed(gone)}, but "
                f"{holding.output.shown} has no such commit of {printable(application)}. If the "
                "function caught the error of its write, those rows are lost: Spark does not run a "
                "committed batch again."
            ),
            how=(
                "Let the function raise its errors, and write the ranges of these batches with a "
                "batch job."
            ),
            follows_from=(*(f"commits/{each}" for each in gone[:5]), f"{holding.output.shown}"),
        )


RULE = Rule(
    code="HF715",
    name="committed-batch-not-in-table",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.OUTPUT,
    judge=_judge,
)
