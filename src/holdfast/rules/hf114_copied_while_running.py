"""HF114: the state is older than the logs: parts of the checkpoint are of other ages.

## What it finds

Stores of the state end two or more versions before the batch that the logs lead to. A replica or a
copy was made while the query ran, or parts of different age were restored.

## What Spark does

Spark fails in its first batch, because the state that it needs is not there.

## What to do

Copy the checkpoint again while no driver runs. If the original is lost, take the copy back to the
newest batch whose logs and state are complete, together with the sink. If the original may return,
never start both.

## Where this comes from

- Spark 4.2.0, `updateFromDeltaFile` and `readSnapshotFile` in
  [HDFSBackedStateStoreProvider.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/HDFSBackedStateStoreProvider.scala)
- Spark 4.2.0, `loadCheckpointFromDfs` in
  [RocksDBFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/RocksDBFileManager.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.state.chain import BrokenChain
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for operator in case.overview.state if case.overview else ():
        broken = [
            (max((file.version for file in each.store.files), default=0), each.store.directory)
            for each in operator.stores
            if isinstance(each.chain, BrokenChain)
        ]
        newest = max(broken, default=None)
        if newest is None or newest[0] > operator.version - 2:
            continue
        yield RULE.find(
            what=(
                f"Spark will fail in batch {operator.version}: the logs lead to it, but the state "
                f"in {newest[1]} ends at version {newest[0]}. The checkpoint was copied while the "
                "query ran, or restored from parts of different age."
            ),
            how="Copy the checkpoint again while no driver runs, or restore all parts at one age.",
            follows_from=tuple(directory for _, directory in broken[:20]),
        )


RULE = Rule(
    code="HF114",
    name="copied-while-running",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
