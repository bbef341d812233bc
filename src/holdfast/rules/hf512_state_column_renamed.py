"""HF512: a column of state has another name, and may mean something else.

## What it finds

At one position of an operator's state the query has another column of the same type: a key was
renamed, or an aggregate takes another column.

## What Spark does

Spark compares types, and ignores names. It binds the new column to the values of the old one.

## What to do

If it is the same column under a new name, nothing needs to be done. If it is another column, [reset
the stream](../../guides/reset.md).

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What it cannot see

Whether the new name means the same values.

## Where this comes from

- Spark 4.2.0, `schemasCompatible` in
  [StateSchemaCompatibilityChecker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/StateSchemaCompatibilityChecker.scala)
- Measured, in the repository, by `python -m campaigns.edits`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.evidence.state_columns import Differs, StateChange
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import AGGREGATE, listed, state_changes, told
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for change in state_changes(case):
        if change.how is not Differs.IN_NAME or _is_other_function(change):
            continue
        yield RULE.find(
            what=(
                f"{told(change)} was {listed(change.before)} and is {listed(change.now)} now. "
                "Spark binds by position: the new columns continue with the values of the old "
                "ones."
            ),
            how=f"If it is another column, and not a new name for the same one, {resetting(case)}.",
            follows_from=(change.follows_from,),
        )


def _is_other_function(change: StateChange) -> bool:
    """Return whether the contracts name another function, which is another finding."""
    if change.operator != AGGREGATE or change.follows_from != THE_LAST_CONTRACT:
        return False
    before, now = ([each.partition("(")[0] for each in one] for one in (change.before, change.now))
    return before != now


RULE = Rule(
    code="HF512",
    name="state-column-renamed",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
