"""HF731: the output already holds the batch that runs again.

## What it finds

A batch was planned and not committed, and the output's log has it. The driver was stopped between
the two.

## What Spark does

Spark runs the batch again. The file sink recognises its number and writes nothing. Nothing is
duplicated and nothing is lost.

## What to do

Start the query. Do not delete the offset entry of the batch: Spark would plan it again with another
range, and the file sink would discard that.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.commits import CommitEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.file_evidence import file_outputs
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    before = case.checkpoint.commits.get(BatchId(case.newest_committed))
    if isinstance(before, CommitEntry) and before.state_ids:
        return  # skipping the batch fails
    for output in file_outputs(case):
        if output.newest != planned or planned <= case.newest_committed:
            continue
        yield RULE.find(
            what=(
                f"{spark_will(case)} run batch {planned} again and write nothing: "
                f"{output.shown} already holds it."
            ),
            how=f"Start the query, and do not delete offsets/{planned}.",
            follows_from=(f"offsets/{planned}", f"_spark_metadata/{planned}"),
        )


RULE = Rule(
    code="HF731",
    name="file-sink-holds-pending-batch",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.OUTPUT,
    judge=_judge,
)
