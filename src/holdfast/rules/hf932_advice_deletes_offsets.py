"""HF932: the error advises to delete offsets/, and that must not be done.

## What it finds

The last error says that the sink cannot recover from a checkpoint, and advises to delete its
`offsets/`. Console and memory sinks say so, also when they were started on the checkpoint of a
production query by mistake.

## What Spark does

The query with that sink does not start. The checkpoint is not harmed. If `offsets/` is deleted, the
query that owns the checkpoint reads everything again, or skips what came in between.

## What to do

Do not follow the advice. Give the console or memory sink a checkpoint of its own.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `This query does not support recovering from checkpoint location` in
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

CAUSES = (Cause.CANNOT_RECOVER,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF932",
    name="advice-deletes-offsets",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
