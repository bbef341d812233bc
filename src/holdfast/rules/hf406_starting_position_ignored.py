"""HF406: the code has another starting position, and the checkpoint has one already.

## What it finds

An option that says where a source begins was changed: `startingOffsets`, `startingTimestamp`,
`startingVersion`.

## What Spark does

Spark reads these options only when a query has no checkpoint. It continues where the checkpoint
ends, and logs nothing.

## What to do

To read from another position, [reset the stream](../../guides/reset.md). To read a range, load it
with a bounded job beside the stream. Otherwise leave the option as it is. The job for a guarded
stream without state ([guide](../../guides/backfill.md)):

```sh
holdfast backfill lake:lake readings --from '{"readings":{"0":0}}' --to '{"readings":{"0":600}}'
```

## Where this comes from

- Spark's documentation:
  [Structured Streaming + Kafka Integration Guide](https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html)
- Delta's documentation:
  [Specify initial position](https://docs.delta.io/delta-streaming/#specify-initial-position)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import backfilling
from holdfast.rules.rule import Finding, Needs, Rule

_STARTING = (
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingVersion",
)


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None or len(found[0].source_options) != len(found[1].source_options):
        return
    load = backfilling(case, otherwise="load it with a bounded job")
    both = zip(found[0].source_options, found[1].source_options, strict=True)
    for number, (old, new) in enumerate(both):
        for name in _STARTING:
            if old.get(name) == new.get(name):
                continue
            yield RULE.find(
                what=(
                    f"{name} of source {number} was {old.get(name, 'not set')} and is "
                    f"{new.get(name, 'not set')} now. Spark ignores it: the checkpoint is at "
                    f"batch {case.newest_planned}, and the query continues there."
                ),
                how=f"To read from another position, reset the stream. To read a range, {load}.",
                follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
            )


RULE = Rule(
    code="HF406",
    name="starting-position-ignored",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.QUERY,
    judge=_judge,
)
