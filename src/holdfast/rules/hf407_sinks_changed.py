"""HF407: the stream has more or fewer sinks than in its last run.

## What it finds

A sink was added to the stream, or removed from it. A sink is its place; another label is no change.

## What Spark does

Spark knows nothing of sinks. An added sink gets the batches from the next one on, and none of those
before. A removed sink keeps what it has and gets no more.

## What to do

If an added sink needs the rows of before, load them with a bounded job. The job for a guarded
stream without state ([guide](../../guides/backfill.md)), with a pipeline that declares this sink
alone, so that the other sinks do not get the rows again:

```sh
holdfast backfill lake:lake readings --from earliest --to '{"readings":{"0":600}}'
```

## What it cannot see

Sinks without a ledger, such as a function of yours.

## Where this comes from

- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import EARLIEST, backfilling
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None or not found[0].spark:  # version 1 of contracts has no places
        return
    before, now = ({sink.place for sink in each.sink_places} for each in found)
    if not before & now:
        return
    load = backfilling(case, start=EARLIEST, otherwise="load them with a bounded job")
    for place in sorted(now - before):
        yield RULE.find(
            what=(
                f"The sink {place} is new. It gets the batches after {case.newest_committed}, and "
                "none of those before."
            ),
            how=f"If it needs the rows of before, {load}; declare it alone for that.",
            follows_from=(THE_LAST_CONTRACT,),
        )
    for place in sorted(before - now):
        yield RULE.find(
            what=f"The sink {place} is not in the code any more. It gets no more batches.",
            how="If it must stay complete, put it back before the next start.",
            follows_from=(THE_LAST_CONTRACT,),
        )


RULE = Rule(
    code="HF407",
    name="sinks-changed",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.QUERY,
    judge=_judge,
)
