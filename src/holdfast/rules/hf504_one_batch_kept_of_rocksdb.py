"""HF504: one batch is kept of RocksDB state: a failed batch can make a restart impossible.

## What it finds

The logs hold two batches and begin after batch 0, and the state is in RocksDB:
`spark.sql.streaming.minBatchesToRetain` is 1.

## What Spark does

Spark deletes the files of older versions in the background. With a single version kept, the files
that the next start needs can be deleted when a batch is retried, or when a second driver cleans up.

## What to do

Set `spark.sql.streaming.minBatchesToRetain` to 10 or more before the next start. Nothing else
changes.

## What it cannot see

The setting itself, which is not in the checkpoint.

## Where this comes from

- Spark 4.2.0, `deleteOldVersions` in
  [RocksDBFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/RocksDBFileManager.scala)
- Spark 4.2.0, `MIN_BATCHES_TO_RETAIN` in
  [SQLConf.scala](https://github.com/apache/spark/blob/v4.2.0/sql/catalyst/src/main/scala/org/apache/spark/sql/internal/SQLConf.scala)
- Measured, in the repository, by `tests/spark/test_retention.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.state import ROCKSDB, provider_of
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    offsets = case.checkpoint.offsets
    is_partly_read = case.checkpoint.first_read is not None
    if case.overview is None or is_partly_read or not offsets:
        return
    rocksdb = [each for each in case.checkpoint.state if provider_of(each) == ROCKSDB]
    if not rocksdb or min(offsets) == 0 or len(offsets) > 2:
        return
    yield RULE.find(
        what=(
            f"Spark keeps {len(offsets)} batches (minBatchesToRetain is 1) of RocksDB state. A "
            "retried batch or a second driver can delete what the next start needs."
        ),
        how="Set spark.sql.streaming.minBatchesToRetain to 10 or more.",
        follows_from=(f"offsets/{min(offsets)}", f"state/{rocksdb[0].operator_id}"),
    )


RULE = Rule(
    code="HF504",
    name="one-batch-kept-of-rocksdb",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
