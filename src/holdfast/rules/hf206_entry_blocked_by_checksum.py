"""HF206: a checksum without its entry blocks the next offset entry.

## What it finds

On local disk, `offsets/.N.crc` is there without the entry `offsets/N`, which Spark writes next. The
entry was deleted without its checksum.

## What Spark does

Hadoop refuses to write the entry, and Spark fails with `Multiple streaming queries are concurrently
using`. There is no other query.

## What to do

Check that no query runs. If the sink holds the batch, restore its offset entry: Spark would plan
the batch again with another range. Only if the sink does not hold it, move the `.crc` file aside.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = (
    "Check that no query runs. If the sink holds the batch, restore its offset entry: planned "
    "anew, the batch has another range. Only if the sink does not hold it, move the `.crc` file "
    "aside."
)


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF206",
    name="entry-blocked-by-checksum",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
