"""HF732: the output does not hold the batch that runs again.

## What it finds

A batch was planned and not committed, and the output's log does not have it. The driver was stopped
before the batch was complete.

## What Spark does

Spark runs the batch again, with the same range, and writes it. Files that the first attempt left
are not in the log: Spark's readers do not see them.

## What to do

Start the query. Readers that do not follow the log, such as Trino or pandas, can see files of the
first attempt.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Spark 4.2.0, `allFilesFromLog` in
  [MetadataLogFileIndex.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MetadataLogFileIndex.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    for output in file_outputs(case):
        if not output.has_log or output.newest != case.newest_committed:
            continue
        if planned <= case.newest_committed:
            continue
        yield RULE.find(
            what=(
                f"{spark_will(case)} run batch {planned} again and write it: {output.shown} lacks "
                "it."
            ),
            how="Start the query.",
            follows_from=(f"offsets/{planned}", f"_spark_metadata/{output.newest}"),
        )


RULE = Rule(
    code="HF732",
    name="file-sink-lacks-pending-batch",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.OUTPUT,
    judge=_judge,
)
