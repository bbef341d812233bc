"""HF371: files that arrived with an old modification time are never read.

## What it finds

The input directory has files that are not in the source's log and are more than 7 days older than
the newest file in it. They arrived late, or were copied with their old modification time (`cp -p`,
`rsync -t`, a restored archive).

## What Spark does

After its first batch, Spark ignores a file that is older than the newest one it has seen by more
than `maxFileAge`, 7 days by default. It reports nothing. A restart does not change that: Spark
computes the limit again from the log.

## What to do

Copy each file to a new name with a current modification time, or load the files once with a batch
job. Raise `maxFileAge` if files regularly arrive late.

## What it cannot see

Options of the source: a larger `maxFileAge`, `latestFirst` with `maxFilesPerTrigger`, or a
`pathGlobFilter` or `modifiedAfter` that leaves these files out on purpose. Only directories that
hold logged files are listed.

## Where this comes from

- Spark 4.2.0, `SeenFilesMap` and `isNewFile` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Spark's documentation:
  [Input Sources](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#input-sources)
- Measured, in the repository, by
  `python -m campaigns.situations file-source-old-files-ignored`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_sources
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source, found in file_sources(case):
        number = found.listed.too_old
        if not number:
            continue
        yield RULE.find(
            what=(
                f"Spark will never read {count(number, 'file')} in {found.directory} that the "
                f"log of source {source} does not list, such as {found.listed.first_too_old}. It "
                "ignores files more than 7 days older than the newest one it has read "
                f"({found.listed.files:,} files listed)."
            ),
            how=(
                "Copy the files to new names with a current modification time, or load them once "
                "with a batch job."
            ),
            accepting="the files stay unread, as before",
            amount=Amount(number=number, unit="file"),
            follows_from=(f"sources/{source}", found.directory),
        )


RULE = Rule(
    code="HF371",
    name="file-source-old-files-ignored",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
