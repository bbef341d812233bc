"""HF321: Kafka lacks what the checkpoint needs, and `failOnDataLoss=false` hides it.

## What it finds

The query reads with `failOnDataLoss=false`, and the broker does not have what the checkpoint needs
next: records have expired, the topic ends before the checkpoint's offset because it was created
again, or partitions are gone.

## What Spark does

Spark starts and says nothing that a person sees: every check becomes a warning in a log.

- Where records have expired, it goes on at the first offset that is left.
- Where the topic ends before the checkpoint's offset, it takes the end of the new topic as read.
  What the new topic holds so far is never read.
- Partitions that are gone are dropped from the checkpoint. What was not read of them is lost, and
  how much that is, is not known.

## What to do

Note the missing range. Load it from another copy, or from the new topic, with a bounded job beside
the stream. Set `failOnDataLoss` back to true; use false only for one supervised start.

## What accepting does

Spark starts, and the records named are lost.

## What it cannot see

The option is known of a guarded stream alone: a checkpoint does not hold it. Offsets are counted,
and in a compacted topic, or one that is written in transactions, some hold no record.

## Where this comes from

- Spark 4.2.0, `reportDataLoss` in
  [KafkaMicroBatchStream.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaMicroBatchStream.scala)
- Spark 4.2.0, `getEarliestAvailableOffsetBetween` in
  [KafkaDataConsumer.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/consumer/KafkaDataConsumer.scala)
- Measured, in the repository, by
  `python -m campaigns.situations kafka-records-expired-ignored`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.sources.kafka import KafkaPartition
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.kafka_topics import (
    Place,
    follows_from,
    kafka_sources,
    places_where,
    tell_places,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        if source.fail_on_data_loss is not False:
            continue
        gone = places_where(source, _is_hidden)
        if not gone:
            continue
        number = sum(_lost(each) for _, each in gone)
        is_exact = not any(each.is_gone for _, each in gone)
        lost = count(number, "record") if is_exact else "an unknown number of records"
        yield RULE.find(
            what=(
                f"Kafka lacks what the checkpoint needs next, and failOnDataLoss=false hides it: "
                f"{tell_places(gone, _tell)}. Spark starts, and {lost} never reach the sink."
            ),
            how=(
                "Load the missing range from another copy, or from the new topic, beside the "
                "stream. Then set failOnDataLoss back to true."
            ),
            accepting=f"Spark starts, and {lost} are lost",
            amount=Amount(number=number, unit="record") if is_exact else None,
            follows_from=follows_from(case, source),
        )


def _is_hidden(place: Place) -> bool:
    """Return whether Spark passes over something. It fails without a topic that the query names."""
    topic, each = place
    is_fatal = not topic.is_there and topic.is_subscribed is True
    return _lost(each) > 0 or (each.is_gone and not is_fatal and topic.is_subscribed is not False)


def _lost(each: KafkaPartition) -> int:
    """Return how many records Spark passes over."""
    if each.is_shorter and each.latest is not None and each.earliest is not None:
        return each.latest - each.earliest
    return each.expired


def _tell(each: KafkaPartition) -> str:
    if each.is_gone:
        return f"gone, needed from {each.needed}"
    if each.is_shorter:
        return f"ends at {each.latest}, needed from {each.needed}"
    return f"begins at {each.earliest}, needed from {each.needed}"


RULE = Rule(
    code="HF321",
    name="kafka-loss-ignored",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
