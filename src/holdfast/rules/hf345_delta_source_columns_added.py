"""HF345: columns were added to the source: a restart is the right answer.

## What it finds

Columns were added to the Delta table since the stream read it, and nothing else about its columns
changed.

## What Spark does

A running query stops with `DELTA_SCHEMA_CHANGED` when it meets the change. After a restart it reads
the new columns too. Nothing is lost or duplicated.

## What to do

Restart the query once. If its sink does not take new columns by itself, add them there first, or
set `mergeSchema`.

## What it cannot see

Whether the sink takes the new columns.

## Where this comes from

- Delta 4.4.0, `checkReadIncompatibleSchemaChanges` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Delta 4.4.0, `DELTA_SCHEMA_CHANGED` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Measured, in the repository, by
  `python -m campaigns.situations delta-source-column-added`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.sources.delta import SchemaChange
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        changes = [each for each in found.pending if each.schema is not SchemaChange.NONE]
        if not changes or any(each.schema is not SchemaChange.ADDED for each in changes):
            continue
        yield RULE.find(
            what=(
                f"Columns were added to {found.shown} in version {changes[0].version}. If source "
                f"{probe.source} stopped for that, a restart is the right answer: Spark then reads "
                "the new columns too."
            ),
            how="Restart the query once, with a sink that takes the new columns.",
            follows_from=(newest_entry(case), *log_files(found, changes[0].version)),
        )


RULE = Rule(
    code="HF345",
    name="delta-source-columns-added",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
