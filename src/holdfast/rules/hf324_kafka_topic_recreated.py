"""HF324: a Kafka topic was created again, and is already longer than the checkpoint's offset.

## What it finds

The topic has another id than at the last guarded run, and its end is at or above the offset that
the checkpoint needs next. The topic was deleted and created again. Where Spark refuses to start for
another reason, such as a partition that is gone, that is found instead.

Or the ids of the last guarded run cannot be read, because a run in the record is damaged. Then the
finding asks: nothing tells whether the topic is still the same one.

## What Spark does

Nothing shows it. Spark stores no topic id, and `failOnDataLoss=true` only compares offsets. It goes
on at the old offset in the new topic: the records of the new topic before that offset never reach
the sink. What was not read of the old topic is lost with it.

## What to do

[Reset the stream](../../guides/reset.md), and begin the new topic at its first offset. The rows
that the sink holds stay: the new topic cannot give them again. The plan asks for `--allow
repeats-data`, because the topic is read from its beginning:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output keep-from-here -o plan.json
```

Or load the new topic from its first offset up to the checkpoint's offset with a bounded job beside
the stream.

## What accepting does

Spark goes on at the old offset. The records of the new topic before it are lost. The next start
compares with the new id.

## What it cannot see

If the stream was already running when the topic was created again, it may have read some of the
records that are counted here. Topics that a pattern matches are recorded from the second start on.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Kafka 3.8.0, `topicId` in
  [TopicDescription.java](https://github.com/apache/kafka/blob/3.8.0/clients/src/main/java/org/apache/kafka/clients/admin/TopicDescription.java)
- Measured, in the repository, by `python -m campaigns.situations kafka-topic-recreated`
- Measured, in the repository, by `tests/spark/test_start_kafka.py`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.sources.kafka import KafkaPartition, KafkaSource
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import KEEP, resetting
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
        yield from _ask(case, source)
        passed = places_where(source, _is_past)
        is_noticed = source.fail_on_data_loss is not False and source.is_refused
        if not passed or is_noticed:
            continue
        number = sum(map(_skipped, (each for _, each in passed)))
        told = tell_places(passed, lambda each: f"{each.earliest} to {(each.needed or 0) - 1}")
        yield RULE.find(
            what=(
                "The topic was deleted and created again since the last guarded run. Spark does "
                f"not notice, whatever failOnDataLoss says: it goes on at the old offset and never "
                f"reads {count(number, 'record')} of the new topic: {told}."
            ),
            how=(
                f"To begin the new topic at its first offset, {resetting(case, output=KEEP)}. Or "
                "load these offsets of the new topic beside the stream."
            ),
            accepting=f"Spark goes on at the old offset, and {count(number, 'record')} are lost",
            amount=Amount(number=number, unit="record"),
            follows_from=(*follows_from(case, source), "the topic ids of the last run"),
        )


def _ask(case: Case, source: KafkaSource) -> Iterator[Finding]:
    """Yield that it is not known, where the ids of the last run could not be read."""
    passed = places_where(source, lambda place: _skipped(place[1]) > 0)
    if source.ids_unread is None or not passed:
        return
    found = RULE.find(
        what=(
            f"Whether {source.shown} was deleted and created again since the last guarded run is "
            f"not known: the topic ids of that run could not be read. {source.ids_unread}"
        ),
        how=(
            "Restore the run from a backup of the record. Or find out when the topic was created; "
            "if that was before the last run, start anyway: the new run records the ids again."
        ),
        accepting=(
            "if the topic was created again, Spark goes on at the old offset, and the records "
            "before it are lost"
        ),
        follows_from=(*follows_from(case, source), "the runs in the record"),
    )
    # It decides on no loss: that is what nobody knows.
    yield replace(found, confidence=Confidence.UNKNOWN, effect=Effect.NONE, goal=Goal.NONE)


def _is_past(place: Place) -> bool:
    topic, each = place
    return topic.is_recreated and not each.is_shorter and _skipped(each) > 0


def _skipped(each: KafkaPartition) -> int:
    if each.needed is None or each.earliest is None:
        return 0
    return max(each.needed - each.earliest, 0)


RULE = Rule(
    code="HF324",
    name="kafka-topic-recreated",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
