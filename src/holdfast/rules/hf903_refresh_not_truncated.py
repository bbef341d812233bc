"""HF903: a full refresh began a new checkpoint, and the table still lists the old batches.

## What it finds

The flow has a new checkpoint, which a full refresh made. The table of files that it writes still
lists more batches than the new checkpoint has planned. Spark makes the new checkpoint first and
empties the table second, and it stopped between the two.

## What Spark does

Every later run continues with the new checkpoint and does not empty the table. Spark reads the
source from its beginning, and skips each batch whose number the table lists already. The run is
COMPLETED. Old rows stay, and rows that came since do not reach the table.

## What to do

Run the pipeline with `--full-refresh TABLE` again, and let it end. It makes another checkpoint and
empties the table.

## What accepting does

The rows of the skipped batches do not reach the table, unless the table holds them already.

## What it cannot see

Nothing tells it once the new checkpoint has planned as many batches as the table lists.

## Where this comes from

- Spark 4.2.0, `reset` in
  [State.scala](https://github.com/apache/spark/blob/v4.2.0/sql/pipelines/src/main/scala/org/apache/spark/sql/pipelines/graph/State.scala)
- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Measured, in the repository, by
  `python -m campaigns.situations declarative-refresh-cut-off`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    place = case.flow
    if place is None or place.table.newest_listed is None or len(place.table.flows) > 1:
        return
    current, listed = place.looked_at.current, place.table.newest_listed
    if current.number == 0 or listed <= current.newest_planned:
        return
    first = current.newest_planned + 1
    skipped = f"batch {first}" if first == listed else f"batches {first} to {listed}"
    yield RULE.find(
        what=(
            f"A full refresh of {place.table.name} began generation {current.number} of the "
            f"checkpoint, and the table still lists batches up to {listed} of an earlier one. "
            f"Spark skips {skipped} of the new generation without an error."
        ),
        how=(
            f"Run the pipeline with --full-refresh {place.table.name.rpartition('.')[2]} again, "
            "and let it end."
        ),
        accepting=f"the rows of {skipped} do not reach the table, unless it holds them already",
        follows_from=(f"_spark_metadata/{listed}", f"{place.flow}/{current.number}"),
    )


RULE = Rule(
    code="HF903",
    name="refresh-not-truncated",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
