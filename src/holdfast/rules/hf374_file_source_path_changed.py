"""HF374: a pattern of paths names the files in another way, so Spark reads them all again.

## What it finds

The query reads a pattern such as `s3a://lake/in/*`, and the source's log holds files of other
paths: another scheme, bucket, mount or directory, or those of another source of the query.

## What Spark does

Spark knows a file by its complete URI. Under another address every file is new: Spark reads all
files again that are not more than 7 days older than the newest one in the log. With a pattern
nothing is checked, and Spark reports nothing. If two sources were swapped, both are read again.

## What to do

Start the query with the path that it had before, scheme included, and with its sources in the same
order.

## What it cannot see

Whether the files under the new path are copies of the old ones, or other data.

## Where this comes from

- Spark 4.2.0, `SeenFilesMap` and `isNewFile` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Spark 4.2.0, `fetchMaxOffset` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Measured, in the repository, by
  `python -m campaigns.situations file-source-path-changed file-source-sources-swapped`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_paths import find_other_paths
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for each in find_other_paths(case):
        if not each.is_glob:
            continue
        swapped = (
            ""
            if each.swapped_with is None
            else (
                f" That is what source {each.swapped_with} has read so far: the two were swapped."
            )
        )
        yield RULE.find(
            what=(
                f"Source {each.source} now reads {each.path}, but its log holds files of "
                f"{each.logged}.{swapped} Spark takes every file for a new one: if they are the "
                f"same files, it reads them again ({each.logged_files:,} in the log)."
            ),
            how=f"Start the query with the path that reads {each.logged}.",
            accepting="everything that the new path matches is read from its beginning",
            follows_from=(f"sources/{each.source}",),
        )


RULE = Rule(
    code="HF374",
    name="file-source-path-changed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
