"""HF931: a repartition of the state did not end.

## What it finds

The last error says that a repartition of this checkpoint began and did not end.

## What Spark does

Spark fails at every start until the repartition has ended.

## What to do

Run the same repartition again, with the same number of partitions. With
`enforce_exactly_once_sink=False` it skips a failed batch, and rows can be duplicated.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `STREAMING_UNFINISHED_REPARTITION_DETECTED` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.UNFINISHED_REPARTITION,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF931",
    name="unfinished-repartition-refused",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
