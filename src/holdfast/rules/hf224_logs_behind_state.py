"""HF224: the state is newer than the logs: the logs were taken back.

## What it finds

`state/` holds versions of batches that `offsets/` does not have. The newest log entries were
deleted, or an older copy of the logs was restored.

## What Spark does

Spark loads the older state that fits the logs and plans the batches again, with other ranges. Rows
that those batches wrote to the sink are duplicated. A sink that recognises batches by their numbers
drops the new ones instead, and rows are lost.

## What to do

If the sink was taken back to the same batch, nothing is wrong, provided that it accepts the numbers
again. Otherwise restore the newest log entries.

## What it cannot see

Whether the sink was taken back too. Name it with `--sink`.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `updateFromDeltaFile` and `readSnapshotFile` in
  [HDFSBackedStateStoreProvider.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/HDFSBackedStateStoreProvider.scala)
- Spark 4.2.0, `loadCheckpointFromDfs` in
  [RocksDBFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/RocksDBFileManager.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import batches_text
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    if case.overview is None or planned < 0:
        return
    files = [
        (file.version, f"{store.directory}/{file.name}", file.unique_id)
        for operator in case.checkpoint.state
        for store in operator.stores
        for file in store.files
        if file.size_bytes  # Spark writes no empty one
    ]
    newest = max(files, default=None, key=lambda each: each[0])
    # Batch N writes version N + 1; real-time mode, which needs format 2, writes offsets afterwards.
    if newest is None or newest[0] <= planned + (1 if newest[2] is None else 2):
        return
    last = newest[0] - 1
    again = batches_text(range(planned + 1, last + 1))
    yield RULE.find(
        what=(
            f"{spark_will(case)} plan {again} again with other ranges: the state "
            f"shows that batch {last} has run, but the newest offset entry is {planned}. Rows "
            "that these batches wrote are duplicated, or dropped by a sink that knows their "
            "numbers."
        ),
        how=f"Restore the log entries up to {last}, or take the sink back to batch {planned} too.",
        accepting=f"Spark plans {again} again, with other ranges",
        follows_from=(newest[1], f"offsets/{planned}"),
    )


RULE = Rule(
    code="HF224",
    name="logs-behind-state",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
