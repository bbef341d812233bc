"""HF417: the newest commit entry names the state of another batch.

## What it finds

The state has format 2. The batch that Spark runs next needs the files that the commit entry right
before it names, and the newest commit entry is older.

## What Spark does

Spark plans the batch and fails in its tasks with
`CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE`.

## What to do

Restore the newest commit entries.

Without a backup, the open windows, the keys of a deduplication and the sums in it are lost. [Reset
a guarded stream](../../guides/reset.md), so that it computes them again from what the source
still has:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `updateStateStoreCkptIdForOperator` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
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

_HOW = "Restore the commit entries that are missing."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW + without_backup(case))


RULE = Rule(
    code="HF417",
    name="state-of-another-batch",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
