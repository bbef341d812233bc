"""HF926: the code's state does not fit the checkpoint's.

## What it finds

The last error says that the stateful operators of the query, or their schema, are not those in the
checkpoint.

## What Spark does

Spark fails at every start with this code. With `stateSchemaCheck` off it would read the old rows
with the wrong layout.

## What to do

Start the old code, or [reset the stream](../../guides/reset.md). `holdfast check` compares new
code with a checkpoint before a deployment.

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Spark 4.2.0, `STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `tests/spark/test_error_reading.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.STATE_SCHEMA,
    Cause.OPERATOR_CHANGED,
)


def _reset(case: Case) -> str:
    return "" if case.root is None else f"For the new code, {resetting(case)}."


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES, then=_reset(case))


RULE = Rule(
    code="HF926",
    name="state-incompatible",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.ERROR,
    judge=_judge,
)
