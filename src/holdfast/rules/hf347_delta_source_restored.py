"""HF347: RESTORE brought rows back that the stream has read: it reads them again.

## What it finds

RESTORE put data files back into the Delta table, in a version that the stream has yet to read. It
removed nothing, so Spark takes it for an append.

## What Spark does

Spark reads the files that RESTORE put back as new rows. The stream has read them before: they are
duplicated in a sink that appends.

## What to do

Set `skipChangeCommits` for the batch that passes the RESTORE only if no append lies between.
Better: start with a new checkpoint and `startingVersion` after the RESTORE, or remove the
duplicates from the sink by a key.

## What accepting does

The rows that RESTORE brought back are duplicated in a sink that appends.

## What it cannot see

Whether the sink recognises rows by a key.

## Where this comes from

- Delta's documentation:
  [Restore a Delta table to an earlier state](https://docs.delta.io/delta-utility/#restore-a-delta-table-to-an-earlier-state)
- Delta 4.4.0, `validateCommitAndDecideSkipping` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Measured, in the repository, by `python -m campaigns.situations delta-source-restored`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        restores = [
            each
            for each in found.pending
            if each.operation == "RESTORE" and each.is_append and each.added_files
        ]
        if not restores:
            continue
        known = [each.added_rows for each in restores if each.added_rows is not None]
        rows = sum(known) if len(known) == len(restores) else None
        files = sum(each.added_files for each in restores)
        number = count(files, "file") if rows is None else count(rows, "row")
        yield RULE.find(
            what=(
                f"RESTORE in version {restores[0].version} of {found.shown} brought back {number} "
                f"that source {probe.source} has read before. Spark reads them again as new rows."
            ),
            how=(
                "Start a new checkpoint with startingVersion after the RESTORE, or let the sink "
                "recognise rows by a key."
            ),
            accepting="these rows are duplicated in a sink that appends",
            follows_from=(newest_entry(case), *log_files(found, restores[0].version)),
            amount=None if rows is None else Amount(number=rows, unit="record"),
        )


RULE = Rule(
    code="HF347",
    name="delta-source-restored",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
