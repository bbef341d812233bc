"""HF922: the same batch fails at every restart, in code, for memory or on one record.

## What it finds

The last error came from running a batch: an exception in `foreachBatch` or in a UDF, too little
memory, or a record that cannot be parsed.

## What Spark does

The range of the batch is written to `offsets/` before the batch runs. Every restart runs that range
again. `maxOffsetsPerTrigger`, a new trigger and new starting offsets do not change it.

## What to do

Fix the code, give one run more memory, or make parsing tolerant. Then restart on the same
checkpoint. Do not delete the offset entry: a sink that already has the batch would drop the new
one.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `FOREACH_BATCH_USER_FUNCTION_ERROR` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `tests/spark/test_error_reading.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.BATCH_FAILS,
    Cause.OUT_OF_MEMORY,
    Cause.POISON_RECORD,
)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF922",
    name="batch-keeps-failing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
