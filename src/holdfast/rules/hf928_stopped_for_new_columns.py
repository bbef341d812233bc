"""HF928: the query stopped for a schema change, and a restart is the right answer.

## What it finds

The last error is the stop that Delta and Auto Loader make by design when columns were added to the
source. This stop was a schema change: a restart is the right answer.

## What Spark does

The next start reads with the new schema and goes on where the query stopped. Nothing is lost, and
nothing is read twice.

## What to do

Restart the query, and let the job restart by itself on this error. Do not delete the checkpoint.

## What it cannot see

Auto Loader's part is known from its documentation and from public logs, not from a run. Whether the
sink takes the new columns is not known.

## Where this comes from

- Delta 4.4.0, `DELTA_SCHEMA_CHANGED` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Databricks's documentation:
  [Configure schema inference and evolution in Auto Loader](https://docs.databricks.com/aws/en/ingestion/cloud-object-storage/auto-loader/schema)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.ADDED_COLUMNS,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF928",
    name="stopped-for-new-columns",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.ERROR,
    judge=_judge,
)
