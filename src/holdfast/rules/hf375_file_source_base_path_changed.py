"""HF375: the query reads another directory than the files in its log are in.

## What it finds

The query reads one directory, and the file that its source has logged last is not in it: another
scheme, bucket, mount or directory, or that of another source of the query.

## What Spark does

At every start Spark loads the paths of the last batch again, and fails with `Wrong basePath`
because they are not below the directory of the query. No row reaches the sink.

## What to do

Start the query with the directory that it had before, scheme included, and with its sources in the
same order. If the data was moved, [reset the stream](../../guides/reset.md).

## What accepting does

Spark fails in the same way. Nothing is written.

## Where this comes from

- Spark 4.2.0, `getBatch` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Spark 4.2.0, `Wrong basePath` in
  [PartitioningAwareFileIndex.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/datasources/PartitioningAwareFileIndex.scala)
- Measured, in the repository, by
  `python -m campaigns.situations file-source-base-path-changed`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_paths import find_other_paths
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for each in find_other_paths(case):
        if each.is_glob:
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
                f"Source {each.source} now reads {each.path}, but the last file in its log is in "
                f"{each.logged}.{swapped} Spark fails with Wrong basePath before it runs a batch."
            ),
            how=f"Start the query with the directory of {each.logged}.",
            accepting="Spark fails in the same way; nothing is written",
            follows_from=(f"sources/{each.source}",),
        )


RULE = Rule(
    code="HF375",
    name="file-source-base-path-changed",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
