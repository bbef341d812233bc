"""HF902: several flows of a pipeline append to one table, whose format is not known.

## What it finds

Several flows of Spark Declarative Pipelines write into the same table. The checkpoints do not tell
the format of the table, and the table was not looked at.

## What Spark does

In a Delta or Iceberg table, every flow is an independent writer, and nothing is lost. In a table of
files, which is the default format, Spark lists one batch per number, and the flows lose each
other's rows without an error.

## What to do

Name the directory of the table with `--sink`, and diagnose again. If it has a `_spark_metadata`
directory, it is a table of files.

## What it cannot see

Where the table is: the storage root of a pipeline does not say it.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Spark's documentation:
  [Spark Declarative Pipelines Programming Guide](https://spark.apache.org/docs/latest/declarative-pipelines-programming-guide.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    place = case.flow
    if place is None or case.outputs or place.table.newest_listed is not None:
        return
    running = place.table.running
    if len(running) < 2:
        return
    names = " and ".join(each.name for each in running)
    yield RULE.find(
        what=(
            f"The flows {names} append to {place.table.name}. If that is a table of files, which "
            "is the default format, Spark loses rows of these flows without an error."
        ),
        how="Name the table's directory with --sink, and diagnose again.",
        follows_from=tuple(f"{each.name}/{each.current.number}/offsets" for each in running),
    )


RULE = Rule(
    code="HF902",
    name="flows-share-table",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
