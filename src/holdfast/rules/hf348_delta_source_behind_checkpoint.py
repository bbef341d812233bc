"""HF348: the source has fewer versions than the stream has read: an old copy.

## What it finds

The checkpoint has read more versions than the Delta table has. The table has the same id, so it is
an older copy of it: a restored backup, or a replica that lags behind.

## What Spark does

With Delta 4.4 Spark fails: `DELTA_STREAMING_TRAILING_COMMIT_MISSING`. Earlier versions of Delta
wait without an error for a version that does not exist yet, and never read what is written until
the table has reached that version again.

## What to do

Restore the newest copy of the table. If it is gone, start with a new checkpoint and
`startingVersion` set to the first version after the restored copy.

## What accepting does

Spark does not start. Before Delta 4.4 it reads nothing until the table has reached the needed
version again.

## What it cannot see

An old copy that was written to until it had as many versions as before.

## Where this comes from

- Delta 4.4.0, `DELTA_STREAMING_TRAILING_COMMIT_MISSING` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Delta 4.4.0, `failOnDataLoss` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-source-old-copy`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        if not found.is_same_table or found.table_id is None:
            continue
        if found.newest + 1 >= found.needed_version:
            continue
        yield RULE.find(
            what=(
                f"Source {probe.source} has read {found.shown} up to version "
                f"{found.needed_version - 1}, but the table ends with version {found.newest}. "
                "Spark fails at the start; before Delta 4.4 it reads nothing that is written until "
                f"version {found.needed_version}."
            ),
            how=(
                "Restore the newest copy of the table, or start a new checkpoint with "
                "startingVersion after what the old copy had."
            ),
            accepting=f"no row is read before version {found.needed_version}",
            follows_from=(newest_entry(case), *log_files(found, found.newest)),
        )


RULE = Rule(
    code="HF348",
    name="delta-source-behind-checkpoint",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
