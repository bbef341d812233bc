"""HF514: the session has another number of shuffle partitions than the state.

## What it finds

`spark.sql.shuffle.partitions` of the session differs from the value in the checkpoint.

## What Spark does

State is divided by the hash of its key. Spark takes the number from the checkpoint, logs a warning,
and ignores that of the session.

## What to do

Leave it, or [reset the stream](../../guides/reset.md) to begin with the new number.

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
from holdfast.rules.changed_query import ignored_settings
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    ignored = ignored_settings(case).get(PARTITIONS)
    if ignored is None or case.query is None or not case.query.now.operators:
        return
    here, pinned = ignored
    yield RULE.find(
        what=(
            f"The session has {here} shuffle partitions and the state has {pinned}. Spark "
            f"continues with {pinned}."
        ),
        how=f"Leave it at {pinned}, or reset the stream to begin with {here}.",
        follows_from=(f"offsets/{case.newest_planned}",),
    )


RULE = Rule(
    code="HF514",
    name="shuffle-partitions-ignored",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.QUERY,
    judge=_judge,
)
