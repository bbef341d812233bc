"""HF803: a checkpoint location is different in every run.

## What it finds

A checkpoint location contains the time, a date, a random id or the application id: by an f-string,
`+`, `%`, `format`, `join` or `strftime`, also through a variable. Or the session sets
`spark.sql.streaming.checkpointLocation`, and the query has no `queryName`.

## What Spark does

Every start finds an empty directory and begins a new query from the source's starting position. In
the second case Spark itself adds a random directory name for each start.

## What to do

Use one fixed location for each query. With the session's setting, give each query a `queryName`.

## Where this comes from

- Spark 4.2.0, `resolveCheckpointLocation` in
  [ResolveWriteToStream.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/ResolveWriteToStream.scala)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        if program.is_shown_only(query):
            continue
        checkpoint = query.checkpoint
        if checkpoint and (volatile := checkpoint.value.volatile):
            yield RULE.find(
                f"The checkpoint location contains {volatile}, so every start is a new query: "
                "it continues from no earlier run.",
                checkpoint.at,
            )
        is_unnamed = query.step("queryName") is None and query.step("name") is None
        if program.is_configured() and not checkpoint and not query.is_open and is_unnamed:
            yield RULE.find(
                "The session's checkpoint location applies to a query without queryName: Spark "
                "makes a new directory for every start.",
                query.at,
            )


RULE = LintRule(
    code="HF803",
    name="checkpoint-changes-every-run",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
