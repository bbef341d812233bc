"""HF412: the state's schemas are named by absolute paths of another place.

## What it finds

The checkpoint of a `transformWithState` query was moved or copied. Its metadata names the schemas
by absolute paths, and they are at the old place.

## What Spark does

Spark looks for the schemas at the old place and fails because they do not exist. If the old
checkpoint is still there, Spark reads the schemas of that one.

## What to do

Move the checkpoint back to its old location, or start the copy from the beginning of its sources
into another sink.

## Where this comes from

- Spark 4.2.0, `stateSchemaFilePaths` in
  [OperatorStateMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/OperatorStateMetadata.scala)
- Measured, in the repository, by `tests/spark/test_moved_state.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Move the checkpoint back to its old location."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF412",
    name="state-schema-elsewhere",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
