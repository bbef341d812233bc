"""HF323: a Kafka topic ends before the offset that the checkpoint needs next.

## What it finds

The end of a partition is below the checkpoint's offset. The topic was deleted and created again,
the query points to another cluster, or an unclean leader election has cut the partition.

## What Spark does

With `failOnDataLoss=true`, which is the default, Spark fails: the offset "was changed". With
`failOnDataLoss=false` it takes the end of the new topic as read, and what the new topic holds until
then is never read.

## What to do

Check that the bootstrap servers are the right ones. If the topic was created again, [reset the
stream](../../guides/reset.md) and begin the new topic at its first offset. Do not start with
`failOnDataLoss=false`. The rows that the sink holds stay: the new topic cannot give them again. The
plan asks for `--allow repeats-data`, because the topic is read from its beginning:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output keep-from-here -o plan.json
```

## What accepting does

Spark starts and fails. If the query is started with `failOnDataLoss=false`, what the new topic
holds so far is lost.

## What it cannot see

As soon as the new topic is longer than the checkpoint's offset, nothing shows without the id of the
topic. A guarded stream records the ids.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Spark 4.2.0, `KAFKA_DATA_LOSS` in
  [kafka-error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/resources/error/kafka-error-conditions.json)
- Measured, in the repository, by `python -m campaigns.situations kafka-topic-shorter`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import KEEP, resetting
from holdfast.rules.kafka_topics import follows_from, kafka_sources, places_where, tell_places
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        shorter = places_where(source, lambda place: place[1].is_shorter)
        if not shorter or source.fail_on_data_loss is False:
            continue
        number = sum((each.latest or 0) - (each.earliest or 0) for _, each in shorter)
        told = tell_places(
            shorter, lambda each: f"ends at {each.latest}, needed from {each.needed}"
        )
        is_known = any(topic.is_recreated for topic, _ in shorter)
        why = "The topic was created again since the last guarded run. " if is_known else ""
        yield RULE.find(
            what=(
                f"Kafka ends before the offset that the checkpoint needs next: {told}. {why}Spark "
                f"fails. With failOnDataLoss=false it starts, and passes over the "
                f"{count(number, 'record')} that are there now."
            ),
            how=(
                "Check the bootstrap servers. If the topic was created again, "
                f"{resetting(case, output=KEEP)} and begin the new topic at its first offset."
            ),
            accepting=(
                "Spark starts and fails, or, with failOnDataLoss=false, loses "
                f"{count(number, 'record')}"
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


RULE = Rule(
    code="HF323",
    name="kafka-topic-shorter",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
