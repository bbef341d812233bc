"""HF745: a batch runs again, and the Iceberg table tells whether it holds it.

## What it finds

A batch was planned and not committed, so Spark runs it again. The table's snapshots tell whether
the batch has reached the table.

## What Spark does

If the table holds the batch, Iceberg's sink skips it. If it does not, the sink writes it once.
Nothing is lost or duplicated.

## What to do

Start the stream. Do not delete the offset entry of the batch.

## Where this comes from

- Iceberg 1.11.0, `findLastCommittedEpochId` in
  [SparkWrite.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SparkWrite.java)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.situations iceberg-commit-deleted`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.iceberg_outputs import find_written
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    if planned <= case.newest_committed:
        return
    for output, writer in find_written(case):
        if writer is None or writer.newest not in (planned, planned - 1):
            continue
        is_held = writer.newest == planned
        says = "holds it, and skips it" if is_held else "does not hold it, and takes it once"
        yield RULE.find(
            what=f"Batch {planned} runs again. {output.shown} {says}.",
            how="Start the stream.",
            follows_from=(f"offsets/{planned}", output.metadata),
        )


RULE = Rule(
    code="HF745",
    name="iceberg-pending-batch",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.OUTPUT,
    judge=_judge,
)
