"""HF222: an older log entry is damaged; Spark does not read it.

## What it finds

A log entry is empty, cut off or of an unknown version, and a start does not need it.

## What Spark does

Spark reads only the two newest offset entries and the newest commit entry, and starts.

## What to do

Nothing for a restart. The query cannot be taken back to that batch.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    checkpoint = case.checkpoint
    if case.overview is None:
        return
    older = [*checkpoint.offsets.values()][:-2] + [*checkpoint.commits.values()][:-1]
    for entry in older:
        if isinstance(entry, Unparsed) and not entry.unread:
            yield RULE.find(
                what=(
                    f"Spark will not read {entry.path}, which is damaged ({entry.reason}). The "
                    "query cannot be taken back to that batch."
                ),
                how="Nothing needs to be done for a restart.",
                follows_from=(entry.path,),
            )


RULE = Rule(
    code="HF222",
    name="older-entry-unreadable",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
