"""HF342: data files of versions that the stream has not read are deleted.

## What it finds

Versions that the stream has yet to read added data files that are no longer there. VACUUM deleted
them after OPTIMIZE or a DELETE removed them from the table, 7 days later by default. At most 32
files are looked at, spread over all of them.

## What Spark does

Spark fails in the batch that reads such a file: `FAILED_READ_FILE.FILE_NOT_EXIST`. It fails at
every start. With `spark.sql.files.ignoreMissingFiles=true` the rows are lost without an error.

## What to do

Start with a new checkpoint and `startingVersion` after the damaged versions. Their rows are still
in the table if OPTIMIZE rewrote them: write them with a batch job. Run the stream more often than
VACUUM deletes.

## What accepting does

Spark fails in the batch that reads the missing files, at every start.

## What it cannot see

Files that were not in the sample.

## Where this comes from

- Delta's documentation:
  [Remove files no longer referenced by a Delta table](https://docs.delta.io/delta-utility/#remove-files-no-longer-referenced-by-a-delta-table)
- Spark 4.2.0, `FAILED_READ_FILE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m campaigns.situations delta-source-vacuumed`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        if not found.is_same_table or not found.files_gone or found.gone_version is None:
            continue
        yield RULE.find(
            what=(
                f"{found.files_gone} of {found.files_checked} data files that were checked are "
                f"gone from {found.shown}; source {probe.source} has yet to read "
                f"{count(found.files, 'file')}. Spark fails in the batch that reads version "
                f"{found.gone_version}."
            ),
            how=(
                "Start a new checkpoint with startingVersion after the damaged versions, and write "
                "their rows from the current table with a batch job."
            ),
            accepting="no row of that batch is read, and Spark fails at every start",
            follows_from=(newest_entry(case), *log_files(found, found.gone_version)),
        )


RULE = Rule(
    code="HF342",
    name="delta-source-files-gone",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
