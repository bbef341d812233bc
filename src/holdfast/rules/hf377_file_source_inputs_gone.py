"""HF377: input files that Spark has read do not exist any more.

## What it finds

Files of committed batches are gone. `cleanSource`, a lifecycle rule or a cleanup job removed or
archived them. A sample of the logged files is looked at, and the message counts it.

## What Spark does

A restart does not need them. A new checkpoint, or one that is set back, does not find them, and
reports nothing: it reads what is left.

## What to do

Before a reset or a replay, restore the files, or read them from the archive directory.

## Where this comes from

- Spark 4.2.0, `FileStreamSourceCleaner` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Spark's documentation:
  [Input Sources](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#input-sources)
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
        if not found.read.gone:
            continue
        yield RULE.find(
            what=(
                "A restart does not need them, but a reset or a replay cannot read everything "
                f"again: source {source} has lost {count(found.read.gone, 'input file')} "
                f"({found.read}), such as {found.read.first_gone}."
            ),
            how="Restore the files before you reset or replay, or read the archive directory.",
            amount=Amount(number=found.read.gone, unit="file"),
            follows_from=(f"sources/{source}",),
        )


RULE = Rule(
    code="HF377",
    name="file-source-inputs-gone",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.SOURCE,
    judge=_judge,
)
