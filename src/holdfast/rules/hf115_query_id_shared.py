"""HF115: another checkpoint has the same query id: one is a copy of the other.

## What it finds

Another checkpoint that was looked at holds the same query id. It is a copy, for a test, a second
region or a deployment beside the first.

## What Spark does

Spark does not notice a copy. Where both write into one Delta or Iceberg table, the first to reach a
batch number wins, and the batch of the other is skipped silently. Its rows are lost.

## What to do

Start only one of them. Give a copy that is to run beside the original a new query id in `metadata`,
and another sink.

## What it cannot see

Whether both are started, and whether they write into the same sink.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Iceberg 1.11.0, `findLastCommittedEpochId` in
  [SparkWrite.java](https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/spark/v4.0/spark/src/main/java/org/apache/iceberg/spark/source/SparkWrite.java)
- Measured, in the repository, by `tests/spark/test_delta_traps.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    metadata = case.checkpoint.metadata
    if not isinstance(metadata, QueryMetadata):
        return
    for each in case.neighbours:
        if each.query_id == metadata.query_id:
            yield RULE.find(
                what=(
                    f"{each.location} has the same query id, and its newest batch is "
                    f"{each.newest_planned}; here it is {case.newest_planned}. If both run into "
                    "one sink, it will skip the batches of the one that comes second."
                ),
                how="Start one of them, and give the other a new query id and a sink of its own.",
                accepting="the sink skips batches whose numbers the other checkpoint has used",
                follows_from=("metadata", each.location),
            )


RULE = Rule(
    code="HF115",
    name="query-id-shared",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.NEIGHBOURS,
    judge=_judge,
)
