"""HF372: one file with a modification time in the future hides every file that arrives.

## What it finds

The source's log has a file whose modification time is more than 7 days in the future, by the clock
of the machine that looked.

## What Spark does

Spark ignores a file that is older than the newest one it has seen by more than `maxFileAge`, 7 days
by default. With a newest file in the future, every file that arrives is too old. The query runs,
finds no data and reports nothing, until the calendar has caught up.

## What to do

Correct the `timestamp` of that entry in the source's log, or set `maxFileAge` beyond the distance.
Then copy the files that were ignored to new names, so that Spark reads them.

## What it cannot see

Options of the source: a larger `maxFileAge`, or `latestFirst` with `maxFilesPerTrigger`.

## Where this comes from

- Spark 4.2.0, `SeenFilesMap` and `isNewFile` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Spark's documentation:
  [Input Sources](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#input-sources)
- Measured, in the repository, by
  `python -m campaigns.situations file-source-future-timestamp`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.sources.files import MAX_FILE_AGE
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_sources
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    limit_ms = int(MAX_FILE_AGE.total_seconds() * 1000)
    for source, found in file_sources(case):
        if found.future_ms <= limit_ms:
            continue
        days = (found.future_ms - limit_ms) / 86_400_000
        yield RULE.find(
            what=(
                f"Spark ignores every file that arrives in {found.directory} for another "
                f"{days:,.1f} days: {found.newest_path} is in the log of source {source} with a "
                f"time {found.future_ms / 86_400_000:,.1f} days in the future, and Spark ignores "
                "files more than 7 days older than that."
            ),
            how=(
                f"Set the source's option maxFileAge above {found.future_ms // 86_400_000 + 1}d, "
                "and load the files that were ignored once with a batch job."
            ),
            accepting="new files stay unread, as before",
            follows_from=(f"sources/{source}",),
        )


RULE = Rule(
    code="HF372",
    name="file-source-future-timestamp",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.SOURCE,
    judge=_judge,
)
