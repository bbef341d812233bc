"""HF202: a log entry that Spark reads at every start is damaged.

## What it finds

The newest offset entry, the one before it, or the newest commit entry is empty, cut off or of an
unknown version. A full disk or an editor does that.

## What Spark does

Spark reads these three entries at every start and fails: `Incomplete log file`,
`MALFORMED_LOG_FILE`, or an error of the JSON parser.

## What to do

Restore the entry. If it is a commit entry, deleting it makes Spark run that batch again, which
duplicates its rows unless the sink recognises the batch. Do not delete a damaged offset entry:
Spark would plan that batch again with another range.
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
    code="HF202",
    name="entry-unreadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
