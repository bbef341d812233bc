"""HF930: a newer version wrote the checkpoint.

## What it finds

The last error says that a log has a version that this Spark or this connector cannot read.

## What Spark does

An older version fails at every start. The version that wrote the checkpoint starts.

## What to do

Start the version that wrote it. `holdfast inspect --spark VERSION` predicts a start for each
version.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `validateVersion` in
  [MetadataVersionUtil.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/MetadataVersionUtil.scala)
- Spark 4.2.0, `INVALID_LOG_VERSION` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `tests/spark/test_error_reading.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.NEWER_LOG,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF930",
    name="checkpoint-of-newer-version",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
