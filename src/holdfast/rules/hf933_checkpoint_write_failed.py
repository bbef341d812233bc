"""HF933: the store did not complete a write of the checkpoint.

## What it finds

The last error says that a file of the checkpoint could not be renamed, or that state could not be
committed.

## What Spark does

The entry that was being written is missing, and Spark plans or runs that batch again. A temporary
file stays and is ignored.

## What to do

Check that one driver runs, then restart it. Move the checkpoint to a store with atomic renames or
conditional writes if it happens again.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `createAtomic` and `renameTempFile` in
  [CheckpointFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/CheckpointFileManager.scala)
- Spark 4.2.0, `FAILED_RENAME_TEMP_FILE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Spark 4.2.0, `CANNOT_WRITE_STATE_STORE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.RENAME_FAILED,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF933",
    name="checkpoint-write-failed",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
