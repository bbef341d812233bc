"""HF118: files are in the checkpoint that Spark does not write there.

## What it finds

Files or directories are in the checkpoint that Spark does not write: copies of entries, notes,
outputs.

## What Spark does

Spark ignores files whose names it does not know. A file in `state/` or in an empty checkpoint can
stop it.

## What to do

Nothing for a restart. Find out who wrote them: a directory that others write to can be cleaned by
others, too.

## Where this comes from

- Spark 4.2.0, `isBatchFile` and `getLatestBatchId` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
- Spark 4.2.0, `verifyNewCheckpointDirectory` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_restart_table.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.obstacles import find_obstacles
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_SHOWN = 3


def _judge(case: Case) -> Iterator[Finding]:
    stops = {each.path for each in find_obstacles(case.checkpoint)}
    found = tuple(each for each in case.checkpoint.foreign if each not in stops)
    if case.overview is None or not found:
        return
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    yield RULE.find(
        what=f"Spark does not write {', '.join(found[:_SHOWN])}{more}, and will ignore it.",
        how="Find out who writes into the checkpoint.",
        follows_from=found[:20],
    )


RULE = Rule(
    code="HF118",
    name="unexpected-files",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
