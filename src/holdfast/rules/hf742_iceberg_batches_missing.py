"""HF742: batches that the checkpoint has committed are not in the Iceberg table: a rollback.

## What it finds

The checkpoint has committed batches that are not in the history of the table's current snapshot,
while older batches of the query are. The table was rolled back or restored.

## What Spark does

Spark goes on with the batch after its newest commit. It does not read the range of the missing
batches again. Their rows stay out of the table, without an error.

## What to do

If the rollback was a mistake, set the current snapshot back. Otherwise load the range of the
missing batches with a bounded job, from the offset entries of the checkpoint.

## What accepting does

The rows of the missing batches stay out of the table.

## Where this comes from

- Iceberg 1.11.0, `findLastCommittedEpochId` in
  [SparkWrite.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SparkWrite.java)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.situations iceberg-sink-rolled-back`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.iceberg_outputs import find_written
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for output, writer in find_written(case):
        if writer is None or writer.newest >= committed:
            continue
        is_rolled_back = writer.newest_removed > writer.newest
        if not is_rolled_back and (output.is_cut or writer.newest < 0):
            continue
        first = writer.newest + 1
        batches = f"batch {first}" if first == committed else f"batches {first} to {committed}"
        by = ", because it was rolled back" if is_rolled_back else ""
        yield RULE.find(
            what=(
                f"The checkpoint has committed {batches}, and the current snapshot of "
                f"{output.shown} does not hold them{by}. Spark goes on with batch "
                f"{committed + 1}, and does not read their range again."
            ),
            how=(
                "Undo the rollback, or load the range of these batches again: their offsets are in "
                "the checkpoint."
            ),
            accepting=f"the rows of {batches} stay out of the table",
            follows_from=(f"commits/{committed}", output.metadata),
        )


RULE = Rule(
    code="HF742",
    name="iceberg-batches-missing",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    needs=Needs.OUTPUT,
    judge=_judge,
)
