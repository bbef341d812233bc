"""HF328: a partition that is new to the checkpoint does not begin at offset 0.

## What it finds

The query reads a topic or a partition that the checkpoint does not name, and Kafka has already
deleted its first records.

## What Spark does

With `failOnDataLoss=true`, which is the default, Spark takes that for lost data and fails: the
added partition "starts from" another offset "instead of 0". With `failOnDataLoss=false` it reads
what is left.

## What to do

Give an old topic a stream of its own. If a partition was added to a topic of this stream while the
stream was stopped, the deleted records are lost: load them from another copy. Then start once with
`failOnDataLoss=false`.

## What accepting does

Spark starts and fails. With `failOnDataLoss=false` it reads what is left of the partition.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Spark 4.2.0, `KAFKA_DATA_LOSS` in
  [kafka-error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/resources/error/kafka-error-conditions.json)
- Measured, in the repository, by
  `python -m campaigns.situations kafka-added-topic-expired`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.kafka_topics import (
    Place,
    follows_from,
    kafka_sources,
    name_of,
    places_where,
    planned_partitions,
    tell_places,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        if source.fail_on_data_loss is False:
            continue
        late = places_where(source, _is_added_late)
        # Batch 0 began where its source says; only a later entry shows that one was added.
        begun = planned_partitions(case) if late and case.newest_planned == 0 else set()
        added = [place for place in late if name_of(place) not in begun]
        if not added:
            continue
        told = tell_places(added, lambda each: f"begins at {each.earliest}")
        yield RULE.find(
            what=(
                f"The checkpoint does not name partitions that do not begin at offset 0 any more: "
                f"{told}. Spark takes that for lost data and fails."
            ),
            how=(
                "Give an old topic a stream of its own, or start once with failOnDataLoss=false "
                "when the deleted records are not needed."
            ),
            accepting=(
                "Spark starts and fails, or, with failOnDataLoss=false, reads what is left of "
                "these partitions"
            ),
            follows_from=follows_from(case, source),
        )


def _is_added_late(place: Place) -> bool:
    topic, each = place
    is_read = topic.is_subscribed is True if topic.is_new else topic.is_subscribed is not False
    return is_read and each.needed is None and (each.earliest or 0) > 0


RULE = Rule(
    code="HF328",
    name="kafka-added-partition-expired",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
