"""HF929: a column of the source was renamed, dropped or retyped.

## What it finds

The last error says that a Delta source has a schema change that a restart does not get past.

## What Spark does

Spark fails at every start until the change is allowed for.

## What to do

Set `schemaTrackingLocation` below the checkpoint and the setting that the message names. Then
restart. Deleting the checkpoint reads every row again.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Delta 4.4.0, `DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Delta's documentation:
  [Tracking non-additive schema changes](https://docs.delta.io/delta-streaming/#tracking-non-additive-schema-changes)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.DELTA_SCHEMA,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF929",
    name="schema-change-not-followed",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
