"""HF901: several flows of a pipeline append to one table of files, and lose each other's rows.

## What it finds

Several flows of Spark Declarative Pipelines write into the same table, and the table is a directory
of files with a `_spark_metadata` log. Parquet is the default format of a pipeline's tables.

## What Spark does

The log has one entry per batch number. Each flow counts its own batches from 0. The first flow that
writes batch 1 is listed. The others skip their batch 1, or fail once and skip it in the retry. The
run is COMPLETED, and the files of the skipped batches lie in the table without being listed. In a
first run of two flows with 4 and 3 files, 3 of 7 rows were readable.

## What to do

Give each flow a table of its own and read the tables through a view. Or store the table in a format
that accepts several writers, if the pipelines of your platform support one. Then run the pipeline
once with `--full-refresh TABLE`, so that every flow reads its source again.

Try the format first. On Spark 4.2.1 with Delta 4.4, the second run into a Delta table failed with
`DELTA_CANNOT_CHANGE_PROVIDER`.

## What accepting does

The table lists one flow's batch per number. The rows of the other flows' batches are lost.

## What it cannot see

Which rows were lost. Compare the files in the table with those that its log lists.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Spark 4.2.0, `StreamingTableWrite` in
  [FlowExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/pipelines/src/main/scala/org/apache/spark/sql/pipelines/graph/FlowExecution.scala)
- Spark's documentation:
  [Spark Declarative Pipelines Programming Guide](https://spark.apache.org/docs/latest/declarative-pipelines-programming-guide.html)
- Measured, in the repository, by
  `python -m campaigns.situations declarative-shared-file-table`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    place = case.flow
    if place is None or place.table.newest_listed is None or len(place.table.running) < 2:
        return
    table, listed = place.table, place.table.newest_listed
    flows = ", ".join(f"{each.name} ({each.current.newest_planned})" for each in table.running)
    committed = sum(each.current.newest_committed + 1 for each in table.running)
    yield RULE.find(
        what=(
            f"{len(table.running)} flows append to {table.name}, whose log lists one batch per "
            f"number. They committed {committed} batches, and the log lists {listed + 1}. Spark "
            f"skips a batch whose number is listed. Newest batch per flow: {flows}."
        ),
        how=(
            "Give each flow its own table, or store this one in a format that accepts several "
            f"writers; then run the pipeline with --full-refresh {table.name.rpartition('.')[2]}."
        ),
        accepting="the table lists one flow's batch per number, and the other flows' rows are lost",
        follows_from=(
            f"_spark_metadata/{listed}",
            *(f"{each.name}/{each.current.number}/offsets" for each in table.running),
        ),
    )


RULE = Rule(
    code="HF901",
    name="flows-share-file-table",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
