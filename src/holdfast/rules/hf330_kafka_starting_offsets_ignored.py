"""HF330: `startingOffsets` was changed, and Spark ignores it.

## What it finds

The query has another `startingOffsets` than in its last run, and its checkpoint has offsets.

## What Spark does

Spark reads `startingOffsets` only when a query starts without a checkpoint. It goes on where the
checkpoint stands: nothing is read again, and nothing is passed over.

## What to do

To begin elsewhere, [reset the stream](../../guides/reset.md). To read a range, load it with a
bounded job beside the stream. The job for a guarded stream without state
([guide](../../guides/backfill.md)):

```sh
holdfast backfill lake:lake readings --from '{"readings":{"0":0}}' --to '{"readings":{"0":600}}'
```

## Where this comes from

- Spark's documentation:
  [Structured Streaming + Kafka Integration Guide](https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html)
- Spark 4.2.0, `getOrCreateInitialPartitionOffsets` in
  [KafkaMicroBatchStream.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaMicroBatchStream.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import backfilling
from holdfast.rules.kafka_topics import kafka_sources
from holdfast.rules.rule import Finding, Needs, Rule

_SHOWN = 60


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        now, before = source.starting_offsets, source.starting_before
        if now is None or now == before:
            continue
        load = backfilling(case, otherwise="load it with a bounded job")
        shown = now if len(now) <= _SHOWN else f"{now[:_SHOWN]}…"
        yield RULE.find(
            what=(
                f"startingOffsets is {shown} now and was {_tell(before)} in the last run. Spark "
                f"ignores it: the checkpoint says where {source.shown} goes on."
            ),
            how=f"To begin elsewhere, reset the stream. To read a range, {load}.",
            follows_from=(f"offsets/{case.newest_planned}", "the contract of the last run"),
        )


def _tell(option: str | None) -> str:
    if option is None:
        return "not set"
    return option if len(option) <= _SHOWN else f"{option[:_SHOWN]}…"


RULE = Rule(
    code="HF330",
    name="kafka-starting-offsets-ignored",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.SOURCE,
    judge=_judge,
)
