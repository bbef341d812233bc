"""HF712: a new checkpoint merges totals that begin at zero into a table with history.

## What it finds

The checkpoint is new, and the Delta table was written with MERGE before. It is *likely*: it holds
if this query keeps state, such as totals per key, merges its result into the table, and does not
read all of the source again.

## What Spark does

State is empty after a reset. Totals begin at zero, and MERGE replaces the totals in the table with
the small new ones. The code is correct; nothing reports it.

## What to do

Restore the old checkpoint, complete with `state/`. If it is gone, read the source from its
beginning, or load the totals of the table as initial state.

## What it cannot see

Whether the query keeps state: an empty checkpoint does not show it.

## Where this comes from

- Spark's documentation:
  [Output Modes](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#output-modes)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-totals-reset`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import at, delta_holdings, is_fresh, planned_ms
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if not is_fresh(case):
        return
    began = planned_ms(case, 0)
    for holding in delta_holdings(case):
        merges = [
            each
            for each in holding.output.commits
            # The query's own first batch can be there, if it is pending.
            if each.operation == "MERGE" and not (began and (each.written_ms or 0) >= began)
        ]
        if not merges:
            continue
        newest = merges[0]
        yield RULE.find(
            what=(
                f"The checkpoint is new, and {holding.output.shown} was written with MERGE until "
                f"{at(newest.written_ms)}. If this query merges totals, they begin at zero, and "
                "Spark replaces the totals in the table with them."
            ),
            how=(
                "Restore the old checkpoint with its state/, or read the source from its beginning."
            ),
            follows_from=("offsets", *holding.files(newest.version)),
        )


RULE = Rule(
    code="HF712",
    name="totals-merged-after-reset",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
