"""HF101: the file `metadata` is damaged, and Spark refuses to start.

## What it finds

The file `metadata` is empty, cut off or no JSON. It holds the query id, by which sinks recognise
the query.

## What Spark does

Every version of Spark reads `metadata` first and fails. Depending on the damage, the error names
Jackson's JSON parser or an empty file.

## What to do

Restore `metadata` from a backup or an object version. The query id is also in a Delta sink's `txn`
actions and in the driver's log (`[id = …`): write `{"id":"<query id>"}`. A guarded stream has the
id in its [record](../record.md#a-generation). Do not delete the file: older versions of Spark then
take a new query id.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore `metadata`, with the same query id."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF101",
    name="metadata-unreadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
