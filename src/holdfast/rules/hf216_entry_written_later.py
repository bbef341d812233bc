"""HF216: an older offset entry was written after newer ones.

## What it finds

The newest batch is pending, and by the store's clock the offset entry before it was written more
than a minute after its own. That entry was edited or restored by hand, or a second driver wrote it.

## What Spark does

Spark does not look at these times. The entry before a pending batch says where the batch begins;
where that differs from what the sink holds, rows are lost or duplicated. Other older entries do not
decide what is read.

## What to do

Compare the entry with a backup, an object version, or the progress events of its batch.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise

from holdfast.evidence.case import Case
from holdfast.evidence.read_at_start import decides_start
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
        if not decides_start(case.checkpoint, f"offsets/{batch}"):
            continue
        yield RULE.find(
            what=(
                f"Spark does not notice that offsets/{batch} was written "
                f"{by.total_seconds():.0f} s "
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
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
