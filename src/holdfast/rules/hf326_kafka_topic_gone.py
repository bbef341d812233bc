"""HF326: a Kafka topic or partition that the checkpoint names does not exist any more.

## What it finds

The broker does not have a topic that the checkpoint names, or has fewer partitions of it: the topic
was deleted, or created again with fewer partitions.

## What Spark does

If the query subscribes to a topic by name and the topic does not exist, Spark fails, whatever
`failOnDataLoss` says. If partitions are gone, or a topic that a pattern matched, it fails with
`failOnDataLoss=true`, which is the default: the partitions "are gone".

## What to do

Check that the bootstrap servers are the right ones. If the topic was deleted for good, take it out
of the query and [reset the stream](../../guides/reset.md). If it was created again, begin the
new topic at its first offset. The rows that the sink holds stay: the new topic cannot give them
again. The plan asks for `--allow repeats-data`, because the topic is read from its beginning:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output keep-from-here -o plan.json
```

## What accepting does

Spark starts and fails. With `failOnDataLoss=false` it can start where only partitions are gone;
what was not read of them is lost.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Spark 4.2.0, `retrieveAllPartitions` in
  [ConsumerStrategy.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/ConsumerStrategy.scala)
- Measured, in the repository, by
  `python -m campaigns.situations kafka-topic-gone kafka-topic-gone-ignored`
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from holdfast.evidence.case import Case
from holdfast.evidence.sources.kafka import KafkaSource
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
        gone = places_where(source, partial(_is_fatal, source))
        if not gone:
            continue
        topics = sorted({topic.name for topic, _ in gone if not topic.is_there})
        named = f"the topic {topics[0]}" if len(topics) == 1 else f"{len(topics):,} topics"
        what = f"does not have {named} any more" if topics else "has fewer partitions than before"
        told = tell_places(gone, lambda each: f"needed from {each.needed}")
        yield RULE.find(
            what=f"The broker {what}, and the checkpoint needs it: {told}. Spark fails.",
            how=(
                "Check the bootstrap servers. If the topic was deleted or created again, "
                f"{resetting(case, output=KEEP)} and the topics that exist now."
            ),
            accepting=(
                "Spark starts and fails, or, where failOnDataLoss=false lets it start, what was "
                "not read of these partitions is lost"
            ),
            follows_from=follows_from(case, source),
        )


def _is_fatal(source: KafkaSource, place: Place) -> bool:
    topic, each = place
    if not each.is_gone or topic.is_subscribed is False:
        return False
    is_named = not topic.is_there and topic.is_subscribed is True
    return is_named or source.fail_on_data_loss is not False


RULE = Rule(
    code="HF326",
    name="kafka-topic-gone",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
