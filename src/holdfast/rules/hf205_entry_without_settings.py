"""HF205: the newest offset entry has no settings.

## What it finds

The second line of the newest offset entry is empty. It holds the batch's time, the watermark and
the pinned settings.

## What Spark does

Spark 4.2 fails with `Batch N metadata not found`. Older versions write a pending batch to the sink
first and fail afterwards, so that each start can duplicate it.

## What to do

Restore the entry. The second line of the entry before it has the same settings; its time and
watermark are older.

## Where this comes from

- Spark 4.2.0, `deserialize` in
  [OffsetSeqLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeqLog.scala)
- Spark 4.2.0, `isRepartitionBatch` in
  [OfflineStateRepartitionUtils.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/OfflineStateRepartitionUtils.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.needed_entries import NO_SETTINGS
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_failure_after, find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the entry with its second line."


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_refusal(RULE, case, how=_HOW)
    yield from find_failure_after(RULE, case, error=NO_SETTINGS, how=_HOW)


RULE = Rule(
    code="HF205",
    name="entry-without-settings",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
