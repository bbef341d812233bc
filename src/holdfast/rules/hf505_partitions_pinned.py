"""HF505: the number of state partitions cannot be changed by a setting.

## What it finds

The query has state, and its offset entries pin `spark.sql.shuffle.partitions`.

## What Spark does

Spark takes the number from the checkpoint and logs a warning, whatever the session says.

## What to do

To change it, repartition the state (Spark 4.2 and later), or [reset the
stream](../../guides/reset.md).

## Where this comes from

- Spark 4.2.0, `relevantSQLConfs` and `setSessionConf` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- Spark's documentation:
  [Miscellaneous Notes](https://spark.apache.org/docs/latest/streaming/additional-information.html#miscellaneous-notes)
- Measured, in the repository, by `tests/spark/test_restart_changed.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import PARTITIONS
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    entry = case.checkpoint.newest_readable
    if case.overview is None or entry is None or entry.metadata is None:
        return
    pinned = entry.metadata.conf.get(PARTITIONS)
    if pinned is None or not case.checkpoint.state:
        return
    yield RULE.find(
        what=f"Spark will use {pinned} shuffle partitions for state, whatever the session says.",
        how="To change it, repartition the state or reset the stream.",
        follows_from=(f"offsets/{entry.batch_id}",),
    )


RULE = Rule(
    code="HF505",
    name="partitions-pinned",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
