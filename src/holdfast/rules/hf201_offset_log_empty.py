"""HF201: `offsets/` is empty, but `commits/` is not.

## What it finds

`offsets/` has no entry, but `commits/` has some. The offset log was deleted or not copied.

## What Spark does

Spark 4.2 fails with a bare `assertion failed`, Spark 4.1 with
`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`. Spark 3.5 and 4.0 run batch 0 into the sink and then
fail.

## What to do

The ledgers give the entries back to a guarded stream without state:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

For every other checkpoint, restore `offsets/` from a backup. Do not delete `commits/`: Spark would
begin with batch 0 and read everything again.

A guarded stream with state for which there is no backup is [reset](../../guides/reset.md), and its
state is computed again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `verifyNewCheckpointDirectory` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resuming, without_backup
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore `offsets/`; do not delete `commits/`."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=resuming(case, otherwise=f"{_HOW}{without_backup(case)}"))


RULE = Rule(
    code="HF201",
    name="offset-log-empty",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
