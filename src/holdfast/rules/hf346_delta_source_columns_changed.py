"""HF346: columns of the source were renamed, dropped or changed in type.

## What it finds

Columns of the Delta table were renamed, dropped or changed in type since the stream read it, and
the checkpoint has no schema log. It is *likely*: it holds unless the query keeps its schema log
(`schemaTrackingLocation`) outside the checkpoint.

## What Spark does

Spark fails at every start, because the versions before the change have other columns than the table
has now: `DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE` or a similar condition.

## What to do

Set `schemaTrackingLocation` on the source, below the checkpoint, and allow the named change with
the setting that the error message prints. A new checkpoint would read the table from its beginning.

## What it cannot see

A schema log that is elsewhere.

## Where this comes from

- Delta 4.4.0, `checkReadIncompatibleSchemaChanges` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Delta 4.4.0, `DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Delta's documentation:
  [Tracking non-additive schema changes](https://docs.delta.io/delta-streaming/#tracking-non-additive-schema-changes)
- Measured, in the repository, by
  `python -m campaigns.situations delta-source-column-dropped`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.sources.delta import SchemaChange
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, named, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule

_SCHEMA_LOG = "_schema_log_"


def _judge(case: Case) -> Iterator[Finding]:
    has_log = any(_SCHEMA_LOG in path for path in case.checkpoint.foreign)
    for probe, found in delta_sources(case) if not has_log else ():
        changes = [each for each in found.pending if each.schema is SchemaChange.OTHER]
        if not changes:
            continue
        yield RULE.find(
            what=(
                f"Columns of {found.shown} were renamed, dropped or changed in type by "
                f"{named(changes)} since source {probe.source} read it. Without a schema log Spark "
                "fails at every start."
            ),
            how=(
                "Set schemaTrackingLocation on the source, below the checkpoint, and allow the "
                "change with the setting that Spark's message names."
            ),
            follows_from=(newest_entry(case), *log_files(found, changes[0].version)),
        )


RULE = Rule(
    code="HF346",
    name="delta-source-columns-changed",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
