"""HF708: a new checkpoint began past the start of its topics, on a table of an earlier query.

## What it finds

The checkpoint is young, it began reading Kafka past the beginning of its topics, and the Delta
table holds batches of an earlier query that ended before. It is *likely*: it holds if this query
replaces the earlier one.

## What Spark does

The default of `startingOffsets` is `latest`. After a reset Spark begins with what arrives from then
on. What was produced between the last batch of the old query and the first start of the new one is
never read.

## What to do

Compare the offsets in `sources/0/0` with the end of the old checkpoint, if you have a copy. Write
the records between them with a batch job that names both offsets. The job for a guarded stream
without state ([guide](../../guides/backfill.md)):

```sh
holdfast backfill lake:lake readings --from '{"readings":{"0":600}}' --to '{"readings":{"0":900}}'
```

## What it cannot see

The offsets of the old checkpoint: the table does not hold them.

## Where this comes from

- Spark 4.2.0, `LatestOffsetRangeLimit` in
  [KafkaSourceProvider.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaSourceProvider.scala)
- Spark's documentation:
  [Structured Streaming + Kafka Integration Guide](https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import OFFSETS, backfilling, position_of
from holdfast.rules.delta_batches import at, delta_holdings, earlier_queries, planned_ms
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    began = {each.name: each.began for each in case.checkpoint.sources}
    past = {
        name: sum(offset for parts in offsets.partitions.values() for offset in parts.values())
        for name, offsets in began.items()
        if isinstance(offsets, KafkaOffset)
    }
    first = planned_ms(case, 0)
    if first is None or not any(past.values()):
        return
    for holding in delta_holdings(case):
        for query_id, commit in earlier_queries(holding).items():
            if commit.written_ms is None or commit.written_ms >= first:
                continue
            source = next(name for name, offset in past.items() if offset)
            yield RULE.find(
                what=(
                    f"This checkpoint began at {at(first)} past the beginning of its Kafka topics, "
                    f"and {holding.output.shown} holds batches of query {query_id} until "
                    f"{at(commit.written_ms)}. If this query replaces that one, records that "
                    "arrived between the two were never read."
                ),
                how=(
                    f"Compare sources/{source}/0 with the last offsets of the old checkpoint. To "
                    f"write what lies between, {_load(case)}."
                ),
                follows_from=(f"sources/{source}/0", "offsets/0", *holding.files(commit.version)),
            )


def _load(case: Case) -> str:
    began = [each.began for each in case.checkpoint.sources]
    end = position_of(began[0]) if len(began) == 1 else OFFSETS
    return backfilling(case, end=end, otherwise="use a batch job")


RULE = Rule(
    code="HF708",
    name="reset-gap",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.OUTPUT,
    judge=_judge,
)
