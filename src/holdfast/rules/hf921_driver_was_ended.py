"""HF921: the driver was ended from outside, or its run failed in passing.

## What it finds

The last error says that the driver was killed (memory limit, SIGKILL, exit code 137, a stopped
container), or that the run failed for a reason that a restart ends. It names nothing that is wrong
with the checkpoint.

## What Spark does

A killed driver leaves at most one batch that is planned and not committed. Spark runs that batch
again, with the same range.

## What to do

Find out who ended the driver. Then restart it.

## What it cannot see

A sink without a ledger can hold rows of the pending batch already. The error does not tell.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.KILLED,
    Cause.TRANSIENT,
)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF921",
    name="driver-was-ended",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.ERROR,
    judge=_judge,
)
