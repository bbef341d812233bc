"""HF203: the offset entry before the newest one is missing.

## What it finds

The newest offset entry is there, and the one before it is not. It was deleted, or a copy is
incomplete.

## What Spark does

Spark reads the entry before the newest one at every start, because it holds where the newest batch
begins. It fails with `batch N doesn't exist`.

## What to do

Restore the entry. Its offsets are also the start offsets of the next batch in the query's progress
events. Do not delete the newest entry, as Spark's log suggests: the sink would then skip or
duplicate a batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the missing entry; do not delete the newest one."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF203",
    name="previous-offset-entry-missing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
