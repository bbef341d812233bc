"""HF727: the checkpoint has committed batches that the output's log does not have.

## What it finds

The newest batch in the output's log is older than the newest committed batch. The output was
restored from an older copy, or its newest log entries were deleted.

## What Spark does

The batches in between are committed, so Spark never writes them again. It goes on with the next
one, and fails with `BATCH_METADATA_NOT_FOUND` at the first batch that compacts the log. Readers
fail as soon as the log has a gap.

## What to do

Restore the newest copy of the output, `_spark_metadata` included. If there is none, start with a
new output directory together with a new checkpoint, from the position of the newest batch in the
log.

## What accepting does

The rows of those batches are missing. The query fails when it compacts the log.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Spark 4.2.0, `BATCH_METADATA_NOT_FOUND` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.situations file-sink-output-behind`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs, when_compacted
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for output in file_outputs(case):
        if output.newest is None or output.newest >= committed:
            continue
        lost = batch_range(output.newest + 1, committed)
        fails = when_compacted(output, committed)
        yield RULE.find(
            what=(
                f"Spark will not write {lost} again, and fails when it compacts the log of "
                f"{output.shown}, {fails}: the checkpoint has committed up to batch {committed}, "
                f"and the log ends with batch {output.newest}."
            ),
            how="Restore the newest copy of the output, with its _spark_metadata.",
            accepting=f"the rows of {lost} are missing, and the query fails {fails}",
            amount=Amount(number=committed - output.newest, unit="batch"),
            follows_from=(f"commits/{committed}", f"_spark_metadata/{output.newest}"),
        )


RULE = Rule(
    code="HF727",
    name="file-sink-behind-checkpoint",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.BACKFILL,
    needs=Needs.OUTPUT,
    judge=_judge,
)
