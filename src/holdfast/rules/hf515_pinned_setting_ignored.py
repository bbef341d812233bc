"""HF515: the session has a setting that Spark replaces by the checkpoint's.

## What it finds

A setting of the session differs from the value that the checkpoint pins: the state store's
provider, the format of state, the policy for several watermarks.

## What Spark does

Spark takes these settings from the newest offset entry, logs a warning, and ignores those of the
session. With another provider set, the state stays in the old one.

## What to do

Leave it, or [reset the stream](../../guides/reset.md) to begin with the new value. Do not edit
the value in the checkpoint: the state is not converted.

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
    if case.query is None or not case.query.now.operators:
        return
    for name, (here, pinned) in ignored_settings(case).items():
        if name == PARTITIONS:
            continue
        yield RULE.find(
            what=(
                f"The session has {name}={here}, and the checkpoint {pinned}. Spark continues "
                f"with {pinned}."
            ),
            how="Leave it, or reset the stream to begin with the new value.",
            follows_from=(f"offsets/{case.newest_planned}",),
        )


RULE = Rule(
    code="HF515",
    name="pinned-setting-ignored",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.QUERY,
    judge=_judge,
)
