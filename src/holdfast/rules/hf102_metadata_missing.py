"""HF102: the file `metadata` is missing, and Spark 4.2 refuses to start.

## What it finds

The file `metadata` is not there, but `offsets/` or `commits/` have entries. A lifecycle rule of a
bucket often takes it first, because it is the oldest file.

## What Spark does

Spark 4.2 and later refuse with `STREAMING_CHECKPOINT_MISSING_METADATA_FILE`. Older versions
continue under a new query id, so that sinks no longer recognise a batch that they hold.

## What to do

Write `{"id":"<query id>"}` into `metadata`. The id is in a Delta sink's `txn` actions and in the
driver's log. A guarded stream has it in its [record](../record.md#a-generation).
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Write `metadata` again, with the query id that the sink or the driver's log names."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF102",
    name="metadata-missing",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
