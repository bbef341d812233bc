"""HF510: columns of state are in another order, and Spark does not see it.

## What it finds

The columns of an operator's state are those of the checkpoint, in another order and with the same
types: `groupBy("a", "b")` became `groupBy("b", "a")`, two aggregates of one type were swapped, or
the keys of `dropDuplicates` are in another order. Another version of Spark can also change the
order of the keys of `dropDuplicates`.

## What Spark does

Spark binds state by position. It compares types, and ignores names. It starts without a warning:
old keys are not found again, so groups begin from zero and duplicates pass; or a group continues
with the sum of another column.

## What to do

Restore the order of the columns in the code. If the query has already run with the new order,
restore a checkpoint from before and [reset the stream](../../guides/reset.md) if there is none.

## What accepting does

Spark starts and continues with the wrong state. Groups, totals and duplicates in the sink are wrong
from the next batch on. The ledger does not change.

## What it cannot see

Columns that were swapped before the operator and kept their names. State of `transformWithState`
and of functions of yours.

## Where this comes from

- Spark 4.2.0, `schemasCompatible` in
  [StateSchemaCompatibilityChecker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/StateSchemaCompatibilityChecker.scala)
- Measured, in the repository, by
  `python -m campaigns.situations grouping-columns-swapped sums-swapped`
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfast.evidence.case import Case
from holdfast.evidence.state_columns import Differs
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import DEDUPLICATING, listed, state_changes, told
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for change in state_changes(case):
        if change.how is not Differs.IN_ORDER:
            continue
        found = RULE.find(
            what=(
                f"{told(change)} was {listed(change.before)} and is {listed(change.now)} now. "
                "The types are equal, so Spark starts without a warning and binds each column "
                "to the values of another one."
            ),
            how="Restore the order of the columns in the code.",
            accepting=(
                "Spark binds old state to the wrong columns: groups, totals and duplicates are "
                "wrong from the next batch on"
            ),
            follows_from=(change.follows_from,),
        )
        is_deduplicating = change.operator in DEDUPLICATING
        yield replace(found, effect=Effect.REPEATS) if is_deduplicating else found


RULE = Rule(
    code="HF510",
    name="state-columns-reordered",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.ALTERS,
    goal=Goal.RESUME,
    needs=Needs.QUERY,
    judge=_judge,
)
