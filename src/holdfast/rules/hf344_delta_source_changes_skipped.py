"""HF344: the stream passed over versions with inserted or updated rows.

## What it finds

The stream has passed versions of its Delta source that rewrote data, so an option lets it:
`skipChangeCommits` or `ignoreChanges`. It is *likely*: it holds with `skipChangeCommits`. The 16
versions before the next one are looked at.

## What Spark does

With `skipChangeCommits` a version with a MERGE, an UPDATE or an overwrite is skipped completely.
The rows that it inserted or updated are not in the sink, and a restart does not bring them. With
`ignoreChanges` the rewritten files were read again instead, and rows are there twice.

## What to do

Write the rows of the named versions with a batch job, or merge them from the change data feed.

## What it cannot see

Which of the options the query sets, and versions before those that were looked at.

## Where this comes from

- Delta 4.4.0, `validateCommitAndDecideSkipping` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Delta's documentation:
  [Ignore updates and deletes](https://docs.delta.io/delta-streaming/#ignore-updates-and-deletes)
- Measured, in the repository, by `python -m campaigns.situations delta-source-skipped`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.sources.delta import SourceCommit
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import (
    delta_sources,
    log_files,
    named,
    newest_entry,
    oldest_offset,
)
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        oldest = oldest_offset(case, probe.source)
        if oldest is None or not found.is_same_table:
            continue
        first = oldest.version + (1 if oldest.initial_snapshot else 0)
        passed = [
            each
            for each in found.commits
            if first <= each.version < found.needed_version and not each.is_append and _brings(each)
        ]
        if not passed:
            continue
        rows = [each.new_rows for each in passed if each.new_rows is not None]
        number = f" with {count(sum(rows), 'row')}" if rows else ""
        yield RULE.find(
            what=(
                f"Source {probe.source} has passed {named(passed)} of {found.shown}, which "
                f"inserted or updated rows{number}. With skipChangeCommits those rows are not in "
                "the sink, and a restart does not bring them."
            ),
            how="Write the rows of these versions with a batch job.",
            follows_from=(newest_entry(case), *log_files(found, passed[0].version)),
        )


def _brings(commit: SourceCommit) -> bool:
    """Return whether a commit has rows that are new: a DELETE only copies the others."""
    return commit.added_files > 0 and commit.operation != "DELETE" and commit.new_rows != 0


RULE = Rule(
    code="HF344",
    name="delta-source-changes-skipped",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
