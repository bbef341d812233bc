"""HF327: a Kafka topic was added to the query, and Spark reads all of it.

## What it finds

The query subscribes to a topic that no offset entry names, and the topic already holds records.

## What Spark does

Spark reads a topic that is new to the checkpoint from its first offset, whatever `startingOffsets`
says. The first batch has all of it, unless `maxOffsetsPerTrigger` limits it.

## What to do

If the old records are not wanted, give the topic a stream of its own with its own starting offsets.
Otherwise set `maxOffsetsPerTrigger`, so that the first batch stays small.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Spark's documentation:
  [Structured Streaming + Kafka Integration Guide](https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html)
- Measured, in the repository, by `python -m campaigns.edits`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.kafka_topics import (
    Place,
    follows_from,
    kafka_sources,
    name_of,
    places_where,
    planned_partitions,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        added = places_where(source, _is_added)
        named = planned_partitions(case) if added else set()
        added = [place for place in added if name_of(place) not in named]
        number = sum((each.latest or 0) - (each.earliest or 0) for _, each in added)
        if number <= 0:
            continue
        names = sorted({topic.name for topic, _ in added})
        shown = names[0] if len(names) == 1 else f"{len(names):,} topics, such as {names[0]}"
        yield RULE.find(
            what=(
                f"The checkpoint does not name {shown}. Spark reads it from its first offset, "
                f"whatever startingOffsets says: {count(number, 'record')}."
            ),
            how=(
                "If the old records are not wanted, give the topic a stream of its own; else limit "
                "the first batch with maxOffsetsPerTrigger."
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


def _is_added(place: Place) -> bool:
    topic, each = place
    return topic.is_new and topic.is_subscribed is True and each.latest is not None


RULE = Rule(
    code="HF327",
    name="kafka-topic-added",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.SOURCE,
    judge=_judge,
)
