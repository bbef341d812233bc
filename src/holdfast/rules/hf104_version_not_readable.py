"""HF104: a file has a format that the Spark to be started does not know.

## What it finds

A log entry, a state file or a pinned setting needs a newer Spark than the one that will be started.
This happens when an upgrade is rolled back.

## What Spark does

Spark fails when it reads the file, with `INVALID_LOG_VERSION` or `UnsupportedLogVersion`. Nothing
is written.

## What to do

Start with a version that `holdfast inspect` names under "readable by". To go back to the older
version, restore a copy of the checkpoint and of the sink from before the upgrade.

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
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Start with a version of Spark that can read every file."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF104",
    name="version-not-readable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
