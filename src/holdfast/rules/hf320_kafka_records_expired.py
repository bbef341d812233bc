"""HF320: Kafka has deleted records that the checkpoint still needs.

## What it finds

The first offset that a partition still has is above the offset that the checkpoint needs next. The
stream was stopped, or lagged, for longer than the topic keeps its records.

## What Spark does

With `failOnDataLoss=true`, which is the default, Spark plans the batch and fails when it reads.
With `failOnDataLoss=false` it goes on at the first offset that is left: the records in between
never reach the sink, and only a warning in an executor's log says so.

## What to do

Raise the topic's retention first, so that nothing more expires. If a copy of the records exists (a
lake, a mirror, tiered storage), load exactly the missing range beside the stream. Then start once
with `failOnDataLoss=false`, and set it back to true.

## What accepting does

Spark starts and fails in its first batch. If the query is started with `failOnDataLoss=false`, the
deleted records are lost.

## What it cannot see

Offsets are counted. In a compacted topic, or one that is written in transactions, some offsets hold
no record, so that fewer records are gone.

## Where this comes from

- Spark 4.2.0, `getEarliestAvailableOffsetBetween` in
  [KafkaDataConsumer.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/consumer/KafkaDataConsumer.scala)
- Spark 4.2.0, `KAFKA_DATA_LOSS` in
  [kafka-error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/resources/error/kafka-error-conditions.json)
- Kafka 3.8.0, `RETENTION_MS_CONFIG` in
  [TopicConfig.java](https://github.com/apache/kafka/blob/3.8.0/clients/src/main/java/org/apache/kafka/common/config/TopicConfig.java)
- Measured, in the repository, by `python -m campaigns.situations kafka-records-expired`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.kafka_topics import follows_from, kafka_sources, places_where, tell_places
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        gone = places_where(source, lambda place: place[1].expired > 0)
        if not gone or source.fail_on_data_loss is False:
            continue
        number = sum(each.expired for _, each in gone)
        told = tell_places(gone, lambda each: f"{each.needed} to {(each.earliest or 0) - 1}")
        yield RULE.find(
            what=(
                f"Kafka has deleted {count(number, 'record')} that the checkpoint needs next: "
                f"{told}. Spark fails in its first batch. With failOnDataLoss=false it starts, and "
                "these records are lost."
            ),
            how=(
                "Raise the retention of the topic. Load the missing range from another copy, if "
                "there is one, then start once with failOnDataLoss=false."
            ),
            accepting=(
                "Spark starts and fails, or, with failOnDataLoss=false, loses "
                f"{count(number, 'record')}"
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


RULE = Rule(
    code="HF320",
    name="kafka-records-expired",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
