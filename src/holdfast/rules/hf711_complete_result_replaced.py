"""HF711: a new checkpoint in complete mode replaces the table with what it has read so far.

## What it finds

The checkpoint is new, and an earlier query wrote the Delta table in complete mode. It is *likely*:
it holds if this query replaces that one, in the same mode, and does not read all of the source
again in its first batch.

## What Spark does

In complete mode every batch removes all files of the table and writes the current result. State is
empty after a reset, so the first batch replaces good totals with totals of what was read since.

## What to do

Restore the old checkpoint. If it is gone, read the source from its beginning, into a new table, and
switch over when it has caught up.

## What it cannot see

The output mode of the query that is about to start, and where its source begins.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Delta's documentation:
  [Complete mode](https://docs.delta.io/delta-streaming/#complete-mode)
- Measured, in the repository, by `python -m campaigns.situations delta-complete-reset`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import delta_holdings, earlier_queries, is_fresh
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if not is_fresh(case):
        return
    for holding in delta_holdings(case):
        for query_id, commit in earlier_queries(holding).items():
            if commit.output_mode != "Complete":
                continue
            yield RULE.find(
                what=(
                    f"The checkpoint is new, and query {query_id} wrote {holding.output.shown} in "
                    "complete mode. If this query replaces that one, its first batch removes the "
                    "table's rows and writes totals of what it has read so far."
                ),
                how=(
                    "Restore the old checkpoint, or fill a new table from the beginning of the "
                    "source and switch over when it has caught up."
                ),
                follows_from=("offsets", *holding.files(commit.version)),
            )


RULE = Rule(
    code="HF711",
    name="complete-result-replaced",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
