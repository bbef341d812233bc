"""HF103: batch 0 needs an empty checkpoint, and this one is not empty.

## What it finds

There are no offset entries, but commits, state or a temporary file are there. A part of
the checkpoint was deleted, or the very first start was killed.

## What Spark does

From Spark 4.1 the start fails with `STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`. Spark 3.5 and 4.0
begin with batch 0 and read everything again.

## What to do

If only a `.tmp` file is there, move it aside; a guarded start does that itself. Otherwise restore
`offsets/` and `commits/`. Do not delete the rest: Spark would read everything again into the same
sink.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore `offsets/`; if only a temporary file is there, move it aside."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF103",
    name="checkpoint-not-empty",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
