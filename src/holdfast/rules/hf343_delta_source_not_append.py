"""HF343: the source was changed by more than appends since the stream read it.

## What it finds

Versions that the stream has yet to read remove data: DELETE, UPDATE, MERGE, an overwrite, RESTORE.
It is *likely*: it holds unless the query sets `skipChangeCommits`, `ignoreDeletes` or
`ignoreChanges`, or reads the change data feed.

## What Spark does

Without such an option Spark fails: `DELTA_SOURCE_TABLE_IGNORE_CHANGES` or
`DELTA_SOURCE_IGNORE_DELETE`, at every start. With `skipChangeCommits` it skips each of these
versions completely: rows that they inserted or updated never arrive. With `ignoreChanges` it reads
every rewritten file again, with rows that did not change.

## What to do

Decide what the sink needs. If the changed rows do not matter, set `skipChangeCommits`. If they do,
set it and write them with a batch job that reads the named versions, or read the change data feed
and merge.

## What it cannot see

The options of the source: they are not in the checkpoint.

## Where this comes from

- Delta 4.4.0, `validateCommitAndDecideSkipping` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Delta 4.4.0, `DELTA_SOURCE_TABLE_IGNORE_CHANGES` and `DELTA_SOURCE_IGNORE_DELETE` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Delta's documentation:
  [Ignore updates and deletes](https://docs.delta.io/delta-streaming/#ignore-updates-and-deletes)
- Measured, in the repository, by `python -m campaigns.situations delta-source-updated`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, named, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        changes = [each for each in found.pending if not each.is_append]
        if not changes:
            continue
        rows = [each.new_rows for each in changes if each.new_rows]
        skipped = f" With skipChangeCommits {count(sum(rows), 'row')} of them never arrive."
        files = sum(each.removed_files for each in changes)
        yield RULE.find(
            what=(
                f"{found.shown} was changed by {named(changes)} since source {probe.source} read "
                f"it, with {count(files, 'file')} removed. Without an option that allows it, Spark "
                f"fails at every start.{skipped if rows else ''}"
            ),
            how=(
                "Set skipChangeCommits on the source and write the changed rows with a batch job, "
                "or read the change data feed."
            ),
            follows_from=(newest_entry(case), *log_files(found, changes[0].version)),
        )


RULE = Rule(
    code="HF343",
    name="delta-source-not-append",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
