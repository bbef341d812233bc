"""HF905: the checkpoint is an older generation of its flow: the next run does not use it.

## What it finds

The checkpoint belongs to a flow of Spark Declarative Pipelines that has a newer one. A full refresh
made the newer one.

## What Spark does

Spark continues with the checkpoint of the highest number. It neither reads nor deletes the others.

## What to do

Diagnose the checkpoint with the highest number. Keep the older ones until you have checked the
refreshed table.

## Where this comes from

- Spark 4.2.0, `getLatestCheckpointDir` in
  [SystemMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/pipelines/src/main/scala/org/apache/spark/sql/pipelines/graph/SystemMetadata.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    place = case.flow
    if place is None or place.is_current:
        return
    current = place.looked_at.current.number
    yield RULE.find(
        what=(
            f"This is generation {place.generation} of flow {place.flow}. The next run continues "
            f"with generation {current}."
        ),
        how=f"Diagnose generation {current} instead.",
        follows_from=(f"{place.flow}/{current}",),
    )


RULE = Rule(
    code="HF905",
    name="older-flow-generation",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
