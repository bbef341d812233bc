"""HF325: a record that was read long ago is newer than the batch that read it.

## What it finds

The record before the checkpoint's offset was written more than ten minutes after the newest batch
was planned. No batch can have read it. The topic was probably deleted and created again. This is
judged only where no topic id was recorded.

## What Spark does

Nothing shows it. Spark goes on at the old offset in the new topic. The records of the new topic
before that offset never reach the sink.

## What to do

Find out whether the topic was created again: compare its creation with the last batch, and its
first records with those in the sink. If it was, [reset the stream](../../guides/reset.md). The
rows that the sink holds stay: the new topic cannot give them again. The plan asks for `--allow
repeats-data`, because the topic is read from its beginning:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output keep-from-here -o plan.json
```

Or load its first records with a bounded job beside the stream.

## What it cannot see

It assumes that producers set times that are right within ten minutes. A producer that sets times in
the future looks the same.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Measured, in the repository, by
  `python -m campaigns.situations kafka-topic-seems-recreated`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
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

_SLACK_MS = 10 * 60_000


def _judge(case: Case) -> Iterator[Finding]:
    newest = [each for each in case.checkpoint.offsets.values() if isinstance(each, OffsetEntry)]
    planned = [each.metadata.batch_timestamp_ms for each in newest if each.metadata]
    if not planned:
        return
    latest_possible = max(planned) + _SLACK_MS

    def is_impossible(place: Place) -> bool:
        topic, each = place
        is_known = topic.topic_id is not None and topic.recorded_id is not None
        return not is_known and (each.last_read_ms or 0) > latest_possible

    for source in kafka_sources(case):
        found = places_where(source, is_impossible)
        if not found:
            continue
        number = sum((each.needed or 0) - (each.earliest or 0) for _, each in found)
        told = tell_places(found, lambda each: f"{each.earliest} to {(each.needed or 0) - 1}")
        yield RULE.find(
            what=(
                "Kafka holds, before the checkpoint's offset, records that are newer than the "
                "newest batch, so no batch has read them. The topic was probably created again. "
                f"Spark then never reads up to {count(number, 'record')}: {told}."
            ),
            how=(
                "Compare the first records of the topic with the sink before you start the stream. "
                f"If the topic was created again, {resetting(case, output=KEEP)}."
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


RULE = Rule(
    code="HF325",
    name="kafka-topic-seems-recreated",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
