"""HF373: input files were written again after Spark read them.

## What it finds

Files that the source has read were modified later: overwritten with new content, or appended to. A
sample of the logged files is looked at, and the message counts it.

## What Spark does

Spark reads a path once. As long as the path is among the files it remembers, 7 days by default, it
never reads it again, whatever is in it. Rows that were added later never reach the sink. When the
path is forgotten, a file with a current time is read again completely: its rows are duplicated.

## What to do

Write every file once, under a new name, and move it into the directory when it is complete. Load
the rows that were added once with a batch job.

## What it cannot see

What was in a file when Spark read it: a file that was restored or copied over itself with the same
content looks changed too.

## Where this comes from

- Spark 4.2.0, `SeenFilesMap` and `isNewFile` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Spark 4.2.0, `fetchMaxOffset` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Measured, in the repository, by
  `python -m campaigns.situations file-source-files-changed`
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
        number = found.read.changed
        if not number:
            continue
        yield RULE.find(
            what=(
                f"Spark does not read {count(number, 'file')} in {found.directory} again, such "
                f"as {found.read.first_changed}, although they were written again after it read "
                f"them ({found.read}): what was added since is lost."
            ),
            how="Compare those files with the sink, and load what is missing with a batch job.",
            accepting="what was added to the files stays unread",
            amount=Amount(number=number, unit="file"),
            follows_from=(f"sources/{source}", found.read.first_changed),
        )


RULE = Rule(
    code="HF373",
    name="file-source-files-changed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
