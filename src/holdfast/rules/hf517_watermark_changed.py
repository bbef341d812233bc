"""HF517: the query has another watermark than in its last run.

## What it finds

The delay or the column of a watermark differs from that of the last run, or a watermark was added
or removed.

## What Spark does

Spark keeps the watermark that it has reached in the checkpoint, and compares nothing. With a
smaller delay, the watermark jumps forward after the first batch: rows that the old delay would have
accepted are dropped, and windows close at once. With a larger delay, the watermark stands until the
newest event is further ahead; rows that are late by the old watermark stay dropped.

## What to do

Decide whether rows in the gap matter. If they do, load them with a batch job for that time:
`holdfast backfill` does not run a query with state.

## What it cannot see

How many rows are late.

## Where this comes from

- Spark 4.2.0, `updateWatermark` in
  [WatermarkTracker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/WatermarkTracker.scala)
- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
- Measured, in the repository, by `python -m campaigns.edits`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts, listed
from holdfast.rules.rule import Finding, Needs, Rule

_SINCE = 3
"""The version of contracts that has watermarks."""


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None or found[0].version < _SINCE or not found[1].operators:
        return
    old, new = found[0].watermarks, found[1].watermarks
    if sorted(old) == sorted(new):
        return
    yield RULE.find(
        what=(
            f"The watermark was {listed(old)} and is {listed(new)} now. Spark keeps the watermark "
            "that it has reached: other rows than before count as late, and windows close at "
            "another time."
        ),
        how="If rows of that time matter, load them with a batch job.",
        follows_from=(THE_LAST_CONTRACT,),
    )


RULE = Rule(
    code="HF517",
    name="watermark-changed",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.QUERY,
    judge=_judge,
)
