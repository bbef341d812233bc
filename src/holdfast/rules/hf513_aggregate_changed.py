"""HF513: an aggregation computes another function, on the state of the old one.

## What it finds

At one position of an aggregation's state the query computes another function with a state of the
same types: `sum` became `max`, `first` became `last`.

## What Spark does

Spark compares types. It starts without a warning and continues the old state as if the new function
had made it: a maximum begins with the old sum.

## What to do

Restore the function, or [reset the stream](../../guides/reset.md) to compute the new one from
the beginning.

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Spark starts and continues with the wrong state. The aggregates of every group that has state are
wrong from the next batch on. The ledger does not change.

## What it cannot see

Functions of yours whose name did not change.

## Where this comes from

- Spark 4.2.0, `schemasCompatible` in
  [StateSchemaCompatibilityChecker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/StateSchemaCompatibilityChecker.scala)
- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
- Measured, in the repository, by `python -m campaigns.situations sum-becomes-maximum`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.evidence.state_columns import Differs
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import AGGREGATE, both_contracts, listed, state_changes
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None or found[0].operators != found[1].operators or not found[0].operator_parts:
        return
    retyped = {each.operator_id for each in state_changes(case) if each.how is Differs.IN_TYPE}
    both = zip(found[0].operator_parts, found[1].operator_parts, strict=True)
    for number, (old, new) in enumerate(both):
        is_compared = found[1].operators[number] == AGGREGATE and number not in retyped
        if not is_compared or old is None or new is None or not _is_other(old, new):
            continue
        yield RULE.find(
            what=(
                f"Operator {number} ({AGGREGATE}) computed {listed(old)} and computes "
                f"{listed(new)} now. The state has the same types, so Spark starts without a "
                "warning and continues the old state with the new function."
            ),
            how=f"Restore the function, or {resetting(case)}.",
            accepting=(
                "Spark continues the old state with the new function: the aggregates of every "
                "group that has state are wrong from the next batch on"
            ),
            follows_from=(THE_LAST_CONTRACT,),
        )


def _is_other(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Return whether another function is at a position, and not only in another order."""
    before, now = ([each.partition("(")[0] for each in side] for side in (old, new))
    return len(before) == len(now) and before != now and sorted(old) != sorted(new)


RULE = Rule(
    code="HF513",
    name="aggregate-changed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.ALTERS,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
