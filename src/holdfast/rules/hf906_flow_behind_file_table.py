"""HF906: the table of files lists batches that its only flow has not planned: a new checkpoint.

## What it finds

A flow of Spark Declarative Pipelines is the only one that still writes a table of files. The table
lists batches with higher numbers than the flow has planned. Another flow wrote them, or this flow
had another checkpoint: it was renamed, or its storage root was changed or deleted.

## What Spark does

Spark skips each batch whose number the table lists already, commits it, and says that the run is
COMPLETED. The rows of these batches do not reach the table.

## What to do

Give the flow its old name and the pipeline its old storage root back. If that is not possible, run
the pipeline with `--full-refresh TABLE`: Spark empties the table and reads the source again.

## What accepting does

The rows of the skipped batches do not reach the table, unless the table holds them already.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Spark 4.2.0, `flowCheckpointsDirOpt` in
  [SystemMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/pipelines/src/main/scala/org/apache/spark/sql/pipelines/graph/SystemMetadata.scala)
- Measured, in the repository, by
  `python -m campaigns.situations declarative-flow-renamed-files`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    place = case.flow
    if place is None or place.table.newest_listed is None or not place.is_current:
        return
    flow, listed = place.looked_at, place.table.newest_listed
    current = flow.current
    if place.table.running != (flow,) or current.number or listed <= current.newest_planned:
        return
    first = current.newest_planned + 1
    skipped = f"batch {first}" if first == listed else f"batches {first} to {listed}"
    ended = [each.name for each in place.table.flows if each.name != flow.name]
    wrote = f", which flow {' or '.join(ended)} wrote" if ended else ""
    yield RULE.find(
        what=(
            f"{place.table.name} lists batches up to {listed}{wrote}. Flow {flow.name} has planned "
            f"batches up to {current.newest_planned}. Spark skips its {skipped} without an error."
        ),
        how=(
            "Give the flow its old name and the pipeline its old storage root back, or run the "
            f"pipeline with --full-refresh {place.table.name.rpartition('.')[2]}."
        ),
        accepting=f"the rows of {skipped} do not reach the table, unless it holds them already",
        follows_from=(
            f"_spark_metadata/{listed}",
            f"{flow.name}/{current.number}/offsets/{current.newest_planned}",
        ),
    )


RULE = Rule(
    code="HF906",
    name="flow-behind-file-table",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
