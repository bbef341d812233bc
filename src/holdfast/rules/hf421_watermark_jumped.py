"""HF421: the watermark moved by days in one batch.

## What it finds

In one batch the watermark moved by a day or more, at least ten times as much as in any other batch
and more than the time between the batches. A single wrong event time does that, and so does a gap
in the data.

## What Spark does

Spark starts. Rows that arrive after the jump with older event times are dropped as late.

## What to do

Look at the event times of that batch. If one was wrong, filter such times before `withWatermark`,
and read again what was dropped.

## What it cannot see

What the event times were.

## Where this comes from

- Spark 4.2.0, `updateWatermark` in
  [WatermarkTracker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/WatermarkTracker.scala)
- Spark 4.2.0, `late event filtering watermark` in
  [statefulOperators.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/operators/stateful/statefulOperators.scala)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import DAY_MS, span_text, with_settings
from holdfast.rules.rule import Finding, Needs, Rule

_TIMES, _LEAST = 10, 3


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None:
        return
    steps = [
        (
            later.batch_watermark_ms - earlier.batch_watermark_ms,
            later.batch_timestamp_ms - earlier.batch_timestamp_ms,
            batch,
        )
        for (_, earlier), (batch, later) in pairwise(with_settings(case.checkpoint))
        if earlier.batch_watermark_ms > 0
    ]
    if len(steps) < _LEAST:
        return
    moved, took, batch = max(steps)
    others = max((step for step, _, each in steps if each != batch), default=0)
    if moved < DAY_MS or moved < _TIMES * max(others, took):
        return
    yield RULE.find(
        what=(
            f"With batch {batch} the watermark moved by {span_text(moved)} in {span_text(took)}. "
            "Spark will drop older rows that still arrive as late."
        ),
        how=f"Look at the event times of batch {batch - 1}, and filter those that are wrong.",
        follows_from=(f"offsets/{batch}",),
    )


RULE = Rule(
    code="HF421",
    name="watermark-jumped",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
