"""HF427: the state allows going back to fewer batches than the logs.

## What it finds

The logs hold more batches than the state can be loaded for. The query can be taken back only to the
batches that have both.

## What Spark does

A restart is not affected. Spark deletes old state files, each store on its own.

## What to do

Nothing for a restart. Before you take the query back, choose a batch that `holdfast inspect` names.

## Where this comes from

- Spark 4.2.0, `deleteOldVersions` in
  [RocksDBFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/RocksDBFileManager.scala)
- Spark 4.2.0, `MIN_BATCHES_TO_RETAIN` in
  [SQLConf.scala](https://github.com/apache/spark/blob/v4.2.0/sql/catalyst/src/main/scala/org/apache/spark/sql/internal/SQLConf.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import batches_text
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None or not case.checkpoint.state or case.checkpoint.state_unread:
        return
    progress = case.overview.progress
    logged = [batch for batch in progress.committed[1:] if batch in case.checkpoint.offsets]
    if len(progress.rewind) >= len(logged):
        return
    can = f"to {batches_text(progress.rewind)}" if progress.rewind else "to no batch"
    yield RULE.find(
        what=(
            f"The query can be taken back {can} only: the logs hold {batches_text(logged)}, but "
            "the state of the others is gone. A restart does not need it."
        ),
        how="Nothing needs to be done for a restart.",
        follows_from=("state/",),
    )


RULE = Rule(
    code="HF427",
    name="state-limits-going-back",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
