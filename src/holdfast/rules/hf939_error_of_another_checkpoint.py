"""HF939: the error that was given is of another query or checkpoint.

## What it finds

The last error names another query id than `metadata` in the checkpoint has. Without a query id in
the error, the directories are compared by their names.

## What Spark does

Nothing follows from the error for this checkpoint. What it says of batches and files is true of
another one.

## What to do

Diagnose the checkpoint that the error names, or give the error of this stream. If both should be
the same stream, its checkpoint was replaced or moved since.

## What it cannot see

Two checkpoints with the same query id: one is a copy of the other.

## Where this comes from

- Spark 4.2.0, `read` in
  [StreamMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamMetadata.scala)
- Measured, in the repository, by `tests/spark/test_error_reading.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import is_of_another
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    shown = is_of_another(case)
    if shown is None:
        return
    yield RULE.find(
        what=f"The error is of another checkpoint: it names {shown}.",
        how="Diagnose the checkpoint that the error names, or give the error of this stream.",
        follows_from=("metadata", "the error"),
    )


RULE = Rule(
    code="HF939",
    name="error-of-another-checkpoint",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
