"""HF105: the checkpoint location is a file.

## What it finds

The checkpoint location is a file, not a directory.

## What Spark does

Spark cannot create the directory and fails with `FileAlreadyExistsException`.

## What to do

Check `checkpointLocation`. If the path is right, move the file aside and find out where the
checkpoint went: an empty directory makes Spark read everything again.

## Where this comes from

- Spark 4.2.0, `createCheckpointDirectory` in
  [CheckpointFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/CheckpointFileManager.scala)
- Measured, in the repository, by `tests/spark/test_location_is_a_file.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Check `checkpointLocation`; if it is right, move the file aside."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF105",
    name="location-is-a-file",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
