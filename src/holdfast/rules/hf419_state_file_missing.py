"""HF419: a state file that the next batch needs is missing.

## What it finds

A snapshot or a file of changes that the next batch loads is not there. Lifecycle rules, partial
copies and two drivers on one checkpoint cause that.

## What Spark does

Spark plans the batch and fails in its tasks:
`CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS`, `CANNOT_READ_STREAMING_STATE_FILE`, or
`Error reading delta file`.

## What to do

Restore the file from an object version or a backup. If it cannot be restored, take the query back
to a batch whose state is complete (`holdfast inspect` names them), together with the sink. Do not
create an empty file in its place.

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
- Spark 4.2.0, `CANNOT_LOAD_STATE_STORE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
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
    code="HF419",
    name="state-file-missing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
