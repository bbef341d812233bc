"""HF710: the pending batch is likely in the table, in a commit that names no batch.

## What it finds

A batch is pending, the Delta table was written after the batch was planned, and that commit names
neither a query nor a batch. A function for `foreachBatch` writes without `txnAppId` and
`txnVersion`. It is *likely*: it holds if that commit is of this query.

## What Spark does

Spark runs the pending batch again. Nothing in the table lets Delta recognise it, so its rows are
written a second time.

## What to do

Compare the rows of the named commit with the source. If they are the batch, take the table back
with RESTORE to the version before, then start. From then on write with `txnAppId` and `txnVersion`.

## What it cannot see

Who made the commit.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Delta's documentation:
  [Idempotent table writes in foreachBatch](https://docs.delta.io/delta-streaming/#idempotent-table-writes-in-foreachbatch)
- Measured, in the repository, by `python -m campaigns.situations delta-killed-unmarked`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import (
    delta_holdings,
    earlier_queries,
    pending_batch,
    planned_ms,
    unmarked_write,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    batch = pending_batch(case)
    since = None if batch is None else planned_ms(case, batch)
    if batch is None or since is None:
        return
    for holding in delta_holdings(case):
        if holding.application is not None:
            continue
        commit = unmarked_write(holding.output, since)
        if commit is None or earlier_queries(holding):
            continue
        rows = "its rows" if commit.rows is None else count(commit.rows, "row")
        yield RULE.find(
            what=(
                f"Batch {batch} is pending, and version {commit.version} of {holding.output.shown} "
                f"was written after it was planned, with {rows} and no batch number. If that is "
                "the batch, Spark writes its rows a second time."
            ),
            how=(
                f"Compare version {commit.version} with the source. If it is batch {batch}, "
                f"restore the table to version {commit.version - 1} before you start."
            ),
            follows_from=(f"offsets/{batch}", *holding.files(commit.version)),
        )


RULE = Rule(
    code="HF710",
    name="pending-batch-not-marked",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
