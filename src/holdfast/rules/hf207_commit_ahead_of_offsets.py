"""HF207: a newer commit entry is there, and every start repeats a batch and fails.

## What it finds

`commits/` has an entry for the batch that Spark will run. Offset entries were deleted, and their
commit entries were not.

## What Spark does

Spark runs the newest batch of `offsets/` again, writes it to the sink, and fails with
`CONCURRENT_STREAM_LOG_UPDATE` when it writes the commit entry. There is no second query. A restart
loop writes the batch once more with every attempt.

## What to do

Stop the restart loop first. Restore the deleted offset entries. If they are lost, compare the sink:
it must hold every committed batch before newer commit entries may be moved aside.

## What it cannot see

Whether the sink recognises the batch. Delta's own sink and the file sink do; an append in
`foreachBatch` does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_failure_after
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Stop the restarts, and restore the offset entries that were deleted."


def _judge(case: Case) -> Iterator[Finding]:
    return find_failure_after(RULE, case, error="CONCURRENT_STREAM_LOG_UPDATE", how=_HOW)


RULE = Rule(
    code="HF207",
    name="commit-ahead-of-offsets",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
