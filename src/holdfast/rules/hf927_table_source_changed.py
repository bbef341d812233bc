"""HF927: the table that the stream reads was replaced, cleaned up or updated.

## What it finds

The last error came from a Delta or Iceberg source: the table has another id, the history after the
checkpoint is gone, or rows were updated or deleted.

## What Spark does

Spark fails at every start. The options that make it start lose rows (`failOnDataLoss=false`,
`skipChangeCommits`) or duplicate rows (`ignoreChanges`). Deleting the checkpoint, as the message
advises, reads every row again.

## What to do

Follow the remedy in the finding. If the table was created again or has lost its history, [reset the
stream](../../guides/reset.md). The plan for a guarded stream:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

If rows of the table were updated or deleted, the goal is a backfill: start with
`skipChangeCommits`, and write the changed rows with a batch job. Do not delete the checkpoint.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Delta 4.4.0, `DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Delta 4.4.0, `DELTA_MISSING_FILES_UNEXPECTED_VERSION` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Delta 4.4.0, `DELTA_SOURCE_TABLE_IGNORE_CHANGES` and `DELTA_SOURCE_IGNORE_DELETE` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

REPLACED = (Cause.DELTA_OTHER_TABLE, Cause.DELTA_HISTORY_GONE)
CHANGED = (Cause.TABLE_NOT_APPEND,)
CAUSES = (*REPLACED, *CHANGED)


def _reset(case: Case) -> str:
    return "" if case.root is None else f"To fill the output again, {resetting(case)}."


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, REPLACED, then=_reset(case))
    yield from find_error(case, RULE, CHANGED, goal=Goal.BACKFILL)


RULE = Rule(
    code="HF927",
    name="table-source-changed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.ERROR,
    judge=_judge,
)
