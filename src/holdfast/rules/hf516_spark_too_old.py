"""HF516: this version of Spark cannot read the checkpoint.

## What it finds

The checkpoint holds files in a format that the version of Spark to be started does not know: the
version was downgraded.

## What Spark does

Spark fails with `INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION` or an error of the state store, at
every start.

## What to do

Start the query with the version that wrote the checkpoint, or with a newer one.

## What accepting does

It is never asked for: a start is not refused because of this. Spark decides.

## Where this comes from

- Spark 4.2.0, `validateVersion` in
  [MetadataVersionUtil.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/MetadataVersionUtil.scala)
- Spark 4.2.0, `INVALID_LOG_VERSION` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.versions import find_readers, version_text
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if case.query is None:
        return
    readers = find_readers(case.checkpoint)
    if not readers.because or case.query.spark[:2] in readers.versions:
        return
    yield RULE.find(
        what=(
            f"Spark {version_text(case.query.spark)} cannot read this checkpoint: "
            f"{readers.because[0]}. It fails at every start."
        ),
        how="Start the query with the version of Spark that wrote the checkpoint, or a newer one.",
        follows_from=readers.because,
    )


RULE = Rule(
    code="HF516",
    name="spark-too-old",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.QUERY,
    judge=_judge,
)
