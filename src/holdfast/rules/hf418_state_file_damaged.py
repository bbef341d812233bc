"""HF418: a state file that the next batch needs is damaged.

## What it finds

A state file that the next batch loads is empty or cannot be read. With `--deep`, in `holdfast
inspect` with `--state`, every file that the batch loads is read completely.

## What Spark does

Spark plans the batch and fails in its tasks with `CANNOT_LOAD_STATE_STORE`. From Spark 4.2 a
damaged snapshot is passed over, if the changes since an older one are there.

## What to do

Restore the file. If it cannot be restored, take the query back to a batch whose state is complete
(`holdfast inspect` names them), together with the sink.

Without a backup, the open windows, the keys of a deduplication and the sums in it are lost. [Reset
a guarded stream](../../guides/reset.md), so that it computes them again from what the source
still has:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `updateFromDeltaFile` and `readSnapshotFile` in
  [HDFSBackedStateStoreProvider.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/HDFSBackedStateStoreProvider.scala)
- Spark 4.2.0, `loadCheckpointFromDfs` in
  [RocksDBFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/RocksDBFileManager.scala)
- Spark 4.2.0, `AutoSnapshotLoader` in
  [AutoSnapshotLoader.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/AutoSnapshotLoader.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import without_backup
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the file, or take the query and its sink back to a batch whose state is complete."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW + without_backup(case))


RULE = Rule(
    code="HF418",
    name="state-file-damaged",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
