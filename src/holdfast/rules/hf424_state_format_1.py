"""HF424: state files have the same names for every driver (state format 1).

## What it finds

The state has format 1, the default before Spark 4.3's real-time mode. Each version of the state has
one file name, no matter which driver writes it.

## What Spark does

Two drivers overwrite each other's state files. A driver that is paused, replaced and resumed can
overwrite a file of the new driver, and the next start fails or loads state of the wrong batch.

## What to do

Make sure that a replaced driver is ended, not only suspended. For a new checkpoint with RocksDB,
set `spark.sql.streaming.stateStore.checkpointFormatVersion=2` (Spark 4.0 and later): there every
writer has file names of its own.

## Where this comes from

- Spark 4.2.0, `STATE_STORE_CHECKPOINT_FORMAT_VERSION` in
  [SQLConf.scala](https://github.com/apache/spark/blob/v4.2.0/sql/catalyst/src/main/scala/org/apache/spark/sql/internal/SQLConf.scala)
- Spark 4.2.0, `updateStateStoreCkptIdForOperator` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    stores = [store for operator in case.checkpoint.state for store in operator.stores]
    files = [file for store in stores for file in store.files]
    if case.overview is None or not files or any(file.unique_id for file in files):
        return
    yield RULE.find(
        what=(
            "The state has format 1: a driver that is paused, replaced and resumed will overwrite "
            "state files of the new one, and Spark may not start again."
        ),
        how="End a driver before you replace it; for a new checkpoint, consider state format 2.",
        follows_from=tuple(store.directory for store in stores[:1]),
    )


RULE = Rule(
    code="HF424",
    name="state-format-1",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
