"""HF110: the location of the checkpoint changes from run to run.

## What it finds

The last name of the location is, or ends in, a random id, a date, a time or an application id.
Spark itself appends a random id when a query has no name and only
`spark.sql.streaming.checkpointLocation` is set.

## What Spark does

A run with another location begins a new checkpoint. Kafka's default then skips what arrived in
between; `earliest`, files and tables are read again.

## What to do

Give the query one fixed location. Continue with the checkpoint that has come furthest, and load the
gaps between the others with bounded jobs.

## What it cannot see

Whether the name is really made new for each run.

## Where this comes from

- Spark 4.2.0, `resolveCheckpointLocation` in
  [ResolveWriteToStream.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/ResolveWriteToStream.scala)
- Spark 4.2.0, `LatestOffsetRangeLimit` in
  [KafkaSourceProvider.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaSourceProvider.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.place_names import changing_part
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    place = case.checkpoint.location
    part = changing_part(place.path)
    if case.overview is None or part is None:
        return
    yield RULE.find(
        what=(
            f"The location ends in {part} ({place.name}). If the next run has another, Spark will "
            "begin a new checkpoint: it skips what arrived in between, or reads everything again."
        ),
        how="Give the query one fixed checkpointLocation, and continue the newest one.",
        follows_from=(str(place),),
    )


RULE = Rule(
    code="HF110",
    name="location-not-stable",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
