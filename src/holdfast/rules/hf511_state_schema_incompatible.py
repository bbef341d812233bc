"""HF511: the columns of state have other types or can be NULL now, and Spark will refuse them.

## What it finds

An operator of the query keeps more, fewer or other columns than its state in the checkpoint: a
column was added to the grouping key, an aggregate was added, or a type was changed.

Or a column can be NULL now that could not be before. Nothing in the code names such a column: an
inner join becomes an outer join, a filter or a `coalesce` is removed, a time limit of a join is.
The last run must have recorded which columns could not be NULL; otherwise `holdfast check` says
*unknown*.

## What Spark does

Spark compares the columns in the first batch and fails with `STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE`
or `STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE`. The same happens at every start.

## What to do

Start the query as it was before. If you want the new columns, [reset the
stream](../../guides/reset.md). Do not switch off Spark's check of state schemas: Spark then
reads rows in the wrong layout.

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Spark decides, and fails as above. The ledger does not change.

## What it cannot see

State of `transformWithState` and of functions of yours.

## Where this comes from

- Spark 4.2.0, `schemasCompatible` in
  [StateSchemaCompatibilityChecker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/StateSchemaCompatibilityChecker.scala)
- Spark 4.2.0, `STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m campaigns.situations state-key-retyped`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.state_columns import Differs, StateChange
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import listed, state_changes, told
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for change in state_changes(case):
        if change.how not in (Differs.IN_TYPE, Differs.IN_NULLABILITY):
            continue
        yield RULE.find(
            what=(
                f"{_differs(change)}. Spark fails in the first batch, with "
                f"STATE_STORE_{change.part.upper()}_SCHEMA_NOT_COMPATIBLE."
            ),
            how=f"Start the query as it was. To begin with the new columns, {resetting(case)}.",
            accepting="Spark decides; it fails in the first batch, at every start",
            follows_from=(change.follows_from,),
        )


def _differs(change: StateChange) -> str:
    if change.how is Differs.IN_NULLABILITY:
        return (
            f"{told(change)} has columns that can be NULL in the query, and not in the "
            f"checkpoint: {listed(change.now)}"
        )
    return (
        f"{told(change)} is {listed(change.before)} in the checkpoint and {listed(change.now)} in "
        "the query"
    )


RULE = Rule(
    code="HF511",
    name="state-schema-incompatible",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
