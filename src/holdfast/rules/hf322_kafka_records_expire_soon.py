"""HF322: Kafka will delete records that the checkpoint still needs within a day.

## What it finds

The oldest record that the checkpoint still needs reaches the age at which its topic deletes records
in less than 24 hours.

## What Spark does

A start before then loses nothing. After it, Spark fails, or loses the records with
`failOnDataLoss=false`.

## What to do

Start the stream in time, or raise `retention.ms` of the topic until it has caught up.

## What it cannot see

Kafka deletes whole segments, so records often stay longer. A limit by size can delete them earlier.

## Where this comes from

- Kafka 3.8.0, `RETENTION_MS_CONFIG` in
  [TopicConfig.java](https://github.com/apache/kafka/blob/3.8.0/clients/src/main/java/org/apache/kafka/common/config/TopicConfig.java)
- Spark 4.2.0, `getEarliestAvailableOffsetBetween` in
  [KafkaDataConsumer.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/consumer/KafkaDataConsumer.scala)
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from holdfast.evidence.case import Case
from holdfast.evidence.wording import duration
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.kafka_topics import follows_from, kafka_sources
from holdfast.rules.rule import Finding, Needs, Rule

_SOON = timedelta(days=1)


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        if source.has_lost:
            continue
        for topic in source.topics:
            date = topic.expires_at
            if date is None or date - case.now >= _SOON:
                continue
            kept = duration(timedelta(milliseconds=topic.retention_ms or 0))
            left = date - case.now
            when = f"in {duration(left)}" if left > timedelta(0) else "at any time from now"
            yield RULE.find(
                what=(
                    f"{topic.name} keeps records for {kept}, and Kafka may delete the oldest one "
                    f"that the checkpoint still needs {when}. A start after that fails or loses it."
                ),
                how="Start the stream before then, or raise retention.ms of the topic first.",
                follows_from=follows_from(case, source),
            )


RULE = Rule(
    code="HF322",
    name="kafka-records-expire-soon",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
