"""HF937: a log of the checkpoint has a gap, is cut off or was deleted.

## What it finds

The last error says that an entry of the logs is missing, empty or cut off, that `metadata` is gone,
or that the logs were deleted and the state was left. The finding says whether the checkpoint has
the file.

## What Spark does

Spark fails at every start. Spark's message advises to delete the newest offset file. A sink that
knows the batch then drops the new one, and its rows are lost.

## What to do

Restore the file from a backup. `holdfast inspect` says which files are there and what each version
of Spark does. This plan writes again what neighbours or ledgers know, and says so if nothing does.
A guarded stream is named by `STREAM --root ROOT`:

```sh
holdfast plan resume LOCATION -o plan.json
```

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `validateOffsetLogAndGetPrevOffset` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `deserialize` in
  [OffsetSeqLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeqLog.scala)
- Spark 4.2.0, `STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `tests/spark/test_error_reading.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.LOG_GAP,
    Cause.LOG_DAMAGED,
    Cause.METADATA_GONE,
    Cause.PARTLY_DELETED,
)


def _resume(case: Case) -> str:
    command = plan_command(case, Goal.RESUME)
    return f"Or run {command}: it writes again what is known, and says so if nothing is."


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES, then=_resume(case))


RULE = Rule(
    code="HF937",
    name="checkpoint-log-broken",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
