"""HF216: an older offset entry was written after newer ones.

## What it finds

By the store's clock, one or two offset entries were written more than a minute after the entry that
follows them. They were edited or restored by hand, or a second driver wrote them.

## What Spark does

Spark does not look at these times. If the entry is one of the two newest, its offsets decide what
is read next; where they differ from what the sink holds, rows are lost or duplicated.

## What to do

Compare the entry with a backup, an object version, or the progress events of its batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_SLACK = timedelta(minutes=1)
_MOST = 2
"""More than these, and the directory was copied in no order."""


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None:
        return
    times = [
        (batch, case.times[path])
        for batch in case.checkpoint.offsets
        if (path := f"offsets/{batch}") in case.times
    ]
    late = [
        (batch, after, written - then)
        for (batch, written), (after, then) in pairwise(times)
        if written > then + _SLACK
    ]
    for batch, after, by in late if len(late) <= _MOST else ():
        yield RULE.find(
            what=(
                f"Spark will start, but offsets/{batch} was written {by.total_seconds():.0f} s "
                f"after offsets/{after}: the entry was edited or restored, or a second driver "
                "wrote it."
            ),
            how=f"Compare offsets/{batch} with a backup or with the progress of its batch.",
            follows_from=(f"offsets/{batch}", f"offsets/{after}"),
        )


RULE = Rule(
    code="HF216",
    name="entry-written-later",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
