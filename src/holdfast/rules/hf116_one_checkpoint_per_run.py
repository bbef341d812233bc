"""HF116: each run of the query seems to begin a checkpoint of its own.

## What it finds

Checkpoints beside this one have names that change from run to run, as this one has, and each ended
before the next began.

## What Spark does

Each run begins with batch 0. It skips what arrived in between, or reads everything again.

## What to do

Give the query one fixed location. Continue with the checkpoint that has come furthest.

## Where this comes from

- Spark 4.2.0, `resolveCheckpointLocation` in
  [ResolveWriteToStream.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/ResolveWriteToStream.scala)
- Spark 4.2.0, `LatestOffsetRangeLimit` in
  [KafkaSourceProvider.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaSourceProvider.scala)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from holdfast.evidence.case import Case, Neighbour
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.place_names import changing_part
from holdfast.rules.rule import Finding, Needs, Rule

_LEAST = 2


def _judge(case: Case) -> Iterator[Finding]:
    place = case.checkpoint.location
    beside = [
        each
        for each in case.neighbours
        if changing_part(each.location) and each.location.rpartition("/")[0] == str(place.parent)
    ]
    if changing_part(place.path) is None or len(beside) < _LEAST or not _is_in_turn(beside):
        return
    yield RULE.find(
        what=(
            f"{len(beside)} checkpoints beside this one have names that change too, and each ended "
            "before the next began. The next run will begin with batch 0, if its name is new."
        ),
        how="Give the query one fixed checkpointLocation, and continue the newest one.",
        follows_from=tuple(each.location for each in beside[:20]),
    )


def _is_in_turn(found: list[Neighbour]) -> bool:
    lives = sorted(
        (each.began_ms, each.newest_ms)
        for each in found
        if each.began_ms is not None and each.newest_ms is not None
    )
    return len(lives) == len(found) and all(
        ended <= began for (_, ended), (began, _) in pairwise(lives)
    )


RULE = Rule(
    code="HF116",
    name="one-checkpoint-per-run",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.NEIGHBOURS,
    judge=_judge,
)
