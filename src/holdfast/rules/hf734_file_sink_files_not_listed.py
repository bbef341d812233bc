"""HF734: the output directory has data files that its log does not list.

## What it finds

Data files lie in the output directory, and the log of the file sink does not list them. A task or a
batch failed after it had written them, a batch is being written now, or another program put them
there. Up to 1,000 files are compared.

## What Spark does

Spark's readers follow the log and do not see them. Spark never deletes them.

## What to do

Readers that do not follow the log, such as Trino, pandas or a path with a pattern, read rows twice:
point them at a table format instead. Delete the files while the query is stopped.

## Where this comes from

- Spark 4.2.0, `allFilesFromLog` in
  [MetadataLogFileIndex.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MetadataLogFileIndex.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for output in file_outputs(case):
        if not output.unlisted:
            continue
        yield RULE.find(
            what=(
                f"Spark's readers do not see {count(output.unlisted, 'data file')} in "
                f"{output.shown} that the log does not list, such as {output.first_unlisted} "
                f"({output.looked:,} looked at); other readers do."
            ),
            how="Delete the files while the query is stopped, if nothing else put them there.",
            amount=Amount(number=output.unlisted, unit="file"),
            follows_from=("_spark_metadata", output.first_unlisted),
        )


RULE = Rule(
    code="HF734",
    name="file-sink-files-not-listed",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.OUTPUT,
    judge=_judge,
)
