"""HF801: a query has no checkpoint location.

## What it finds

A query is started without a checkpoint location, in the code or in the session's settings of the
same file. Sinks for looking at data (`console`, `memory`, `noop`) need none.

## What Spark does

For `foreach` and `foreachBatch`, Spark makes a new directory for every start: a temporary one, or a
random one below the session's setting. Every start begins again from the source's starting
position: with `earliest` rows are duplicated, with `latest` rows are lost. Other sinks refuse to
start.

## What to do

Set `checkpointLocation` to a directory of this query alone, on storage that outlives the driver. A
setting outside the file, such as `--conf spark.sql.streaming.checkpointLocation`, cannot be seen.

## Where this comes from

- Spark 4.2.0, `resolveCheckpointLocation` in
  [ResolveWriteToStream.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/ResolveWriteToStream.scala)
- Spark 4.2.0, `SOURCES_ALLOW_ONE_TIME_QUERY` in
  [DataStreamWriter.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/classic/DataStreamWriter.scala)
- Measured, in the repository, by `python -m campaigns.web_claims`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    if program.is_configured():
        return
    for query in program.queries:
        if query.is_open or query.checkpoint or query.format is None:
            continue
        if program.is_shown_only(query):
            continue
        if query.format in {"foreachBatch", "foreach"}:
            does = (
                "Spark makes a new directory for every start, which begins again from the source's"
            )
            message = f"The query has no checkpointLocation. {does} starting position."
        else:
            does = "unless the session sets spark.sql.streaming.checkpointLocation"
            message = f"The query has no checkpointLocation: Spark refuses to start it, {does}."
        yield RULE.find(message, query.at)


RULE = LintRule(
    code="HF801",
    name="no-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
