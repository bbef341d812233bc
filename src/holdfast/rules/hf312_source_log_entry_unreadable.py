"""HF312: an entry in the log of a file source is damaged.

## What it finds

An entry of `sources/<i>/` that Spark reads at every start is empty, cut off or no JSON.

## What Spark does

The file source fails when it reads its log.

## What to do

Restore the entry. Do not delete it: Spark then fails because it is missing.

## Where this comes from

- Spark 4.2.0, `deserialize` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the entry from a backup or an object version."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF312",
    name="source-log-entry-unreadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
