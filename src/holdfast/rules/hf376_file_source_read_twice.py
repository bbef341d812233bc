"""HF376: files are in the log under two addresses, so Spark has read them twice.

## What it finds

The log of the source names the same path, with the same modification time, under two schemes or
authorities, such as `s3://lake` and `s3a://lake`.

## What Spark does

Spark knows a file by its complete URI and has read each of these files twice. A restart does not
repeat that, and does not repair it.

## What to do

Look for duplicate rows in the sink, by the name of the input file where it is kept. Do not change
the scheme again.

## Where this comes from

- Spark 4.2.0, `SeenFilesMap` and `isNewFile` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
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
        if not found.repeated:
            continue
        yield RULE.find(
            what=(
                f"Spark has read {count(found.repeated, 'file')} of source {source} twice: the "
                f"log names them under {' and under '.join(found.roots)}."
            ),
            how="Look for duplicate rows in the sink, and keep the address that is used now.",
            amount=Amount(number=found.repeated, unit="file"),
            follows_from=(f"sources/{source}",),
        )


RULE = Rule(
    code="HF376",
    name="file-source-read-twice",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
