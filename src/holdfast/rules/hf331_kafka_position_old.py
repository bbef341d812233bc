"""HF331: the newest batch is older than Kafka keeps records by default.

## What it finds

The newest batch was planned more than 7 days ago, and the source was not asked what it still has.
Kafka keeps records for 7 days by default. Azure Event Hubs, which writes offsets of the same form,
keeps them for at most 7 days in its standard tier.

## What Spark does

If the records that the checkpoint needs are gone, a Kafka source fails, or loses them with
`failOnDataLoss=false`. The connector of Event Hubs moves on to the first event that is left.

## What to do

Ask the source before you start the stream: `holdfast diagnose --probe`. For Event Hubs, compare the
sequence numbers in the newest entry with the first one of each partition.

## What it cannot see

How long the topic really keeps its records, and whether any were written since the last batch.

## Where this comes from

- Kafka 3.8.0, `RETENTION_MS_CONFIG` in
  [TopicConfig.java](https://github.com/apache/kafka/blob/3.8.0/clients/src/main/java/org/apache/kafka/common/config/TopicConfig.java)
- Spark 4.2.0, `getEarliestAvailableOffsetBetween` in
  [KafkaDataConsumer.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/consumer/KafkaDataConsumer.scala)
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources import parse_offset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.evidence.case import Case
from holdfast.evidence.sources.kafka import KafkaSource
from holdfast.evidence.wording import duration
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_KEPT = timedelta(days=7)


def _judge(case: Case) -> Iterator[Finding]:
    newest = (
        case.checkpoint.offsets[max(case.checkpoint.offsets)] if case.checkpoint.offsets else None
    )
    if not isinstance(newest, OffsetEntry) or newest.metadata is None:
        return
    age = _age(newest.metadata.batch_timestamp_ms, case.now)
    if age is None or age <= _KEPT:
        return
    asked = {each.source for each in case.sources if isinstance(each.found, KafkaSource)}
    for each in newest.offsets:
        if each.source in asked or each.text is None:
            continue
        if not isinstance(parse_offset(each.text), KafkaOffset):
            continue
        yield RULE.find(
            what=(
                f"The newest batch was planned {duration(age)} ago, and Kafka keeps records "
                f"for 7 days by default. If those that source {each.source} needs are gone, Spark "
                "fails, or loses them with failOnDataLoss=false."
            ),
            how="Ask the source before you start the stream: holdfast diagnose --probe.",
            follows_from=(f"offsets/{newest.batch_id}",),
        )


def _age(planned_ms: int, now: datetime) -> timedelta | None:
    try:
        return now - datetime.fromtimestamp(planned_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None


RULE = Rule(
    code="HF331",
    name="kafka-position-old",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
