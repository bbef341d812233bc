"""HF330: `startingOffsets` was changed, and Spark ignores it.

## What it finds

The query has another `startingOffsets` than in its last run, and its checkpoint has offsets.

## What Spark does

Spark reads `startingOffsets` only when a query starts without a checkpoint. It goes on where the
checkpoint stands: nothing is read again, and nothing is passed over.

## What to do

To read a range again, load it with a bounded job beside the stream. To begin elsewhere,
[reset the stream](../../guides/resetting.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.kafka_topics import kafka_sources
from holdfast.rules.rule import Finding, Needs, Rule

_SHOWN = 60


def _judge(case: Case) -> Iterator[Finding]:
    for source in kafka_sources(case):
        now, before = source.starting_offsets, source.starting_before
        if now is None or now == before:
            continue
        shown = now if len(now) <= _SHOWN else f"{now[:_SHOWN]}…"
        yield RULE.find(
            what=(
                f"startingOffsets is {shown} now and was {_tell(before)} in the last run. Spark "
                f"ignores it: the checkpoint says where {source.shown} goes on."
            ),
            how="To begin elsewhere, reset the stream; to read a range again, backfill it.",
            follows_from=(f"offsets/{case.newest_planned}", "the contract of the last run"),
        )


def _tell(option: str | None) -> str:
    if option is None:
        return "not set"
    return option if len(option) <= _SHOWN else f"{option[:_SHOWN]}…"


RULE = Rule(
    code="HF330",
    name="kafka-starting-offsets-ignored",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.SOURCE,
    judge=_judge,
)
