"""HF911: Auto Loader stopped because the schema of its files changed; a restart is the answer.

## What it finds

The checkpoint belongs to Databricks Auto Loader, and its schema log has an entry that is newer than
the newest batch. Auto Loader wrote the new schema and then stopped the query.

## What Spark does

This is how schema evolution works with `addNewColumns`, the default: the query fails once with
`UNKNOWN_FIELD_EXCEPTION` and has the new columns after a restart. The failed batch runs again with
the new schema. Nothing is lost.

## What to do

Restart the query. Let the job retry by itself: set its number of retries, or run it as a continuous
job. Check that the sink accepts the new columns, for example with `mergeSchema`.

## What it cannot see

The error itself. Pass it with `--error`. The format of Auto Loader is not public: this rule follows
its documentation and public samples.

## Where this comes from

- Databricks's documentation:
  [Configure schema inference and evolution in Auto Loader](https://docs.databricks.com/aws/en/ingestion/cloud-object-storage/auto-loader/schema)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.sources.auto_loader import SCHEMAS
from holdfast.evidence.auto_loader import find_auto_loader, newest_schema
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    newest = newest_schema(case.times)
    planned = case.times.get(f"offsets/{case.newest_planned}")
    if newest is None or planned is None or next(find_auto_loader(case.checkpoint), None) is None:
        return
    number, written = newest
    # Entry 0 is the first schema, which is inferred before the first batch.
    if number == 0 or written <= planned:
        return
    yield RULE.find(
        what=(
            f"Auto Loader wrote schema {number} at {written:%Y-%m-%d %H:%M} UTC, after the newest "
            f"batch, {case.newest_planned}, was planned. This stop was a schema change, and a "
            "restart is the right answer: Spark runs the batch again with the new columns."
        ),
        how="Restart the query, and check that the sink accepts the new columns.",
        follows_from=(f"{SCHEMAS}/{number}", f"offsets/{case.newest_planned}"),
    )


RULE = Rule(
    code="HF911",
    name="auto-loader-schema-changed",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
