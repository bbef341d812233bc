"""HF313: a checksum without its entry blocks the log of a file source.

## What it finds

On local disk, a `.crc` file in `sources/<i>/` is there without the entry that Spark writes next.

## What Spark does

Hadoop refuses to write the entry, and Spark fails with `Multiple streaming queries are concurrently
using`. There is no other query.

## What to do

Check that no query runs, then move the `.crc` file aside.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Check that no query runs, then move the `.crc` file aside."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF313",
    name="source-log-blocked-by-checksum",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
