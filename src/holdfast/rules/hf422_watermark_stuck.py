"""HF422: the watermark does not move although data arrives.

## What it finds

The watermark has been the same for at least ten batches and an hour, while the offsets of the
sources moved. With several inputs, one that gives nothing holds the watermark back; or the event
times do not move.

## What Spark does

Spark continues with the same watermark. State grows, and in append mode no window is emitted.

## What to do

Find the input that gives no newer event times. The policy (`multipleWatermarkPolicy`) is pinned in
the checkpoint and cannot be changed for it.

## Where this comes from

- Spark 4.2.0, `MinWatermark` in
  [WatermarkTracker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/WatermarkTracker.scala)
- Spark's documentation:
  [Policy for handling multiple watermarks](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#policy-for-handling-multiple-watermarks)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import HOUR_MS, moment_text, span_text
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule

_LEAST = 10


def _judge(case: Case) -> Iterator[Finding]:
    entries = [each for each in case.checkpoint.offsets.values() if isinstance(each, OffsetEntry)]
    newest = entries[-1].metadata if entries else None
    if case.overview is None or newest is None or newest.batch_watermark_ms <= 0:
        return
    same = []
    for entry in reversed(entries):
        found = entry.metadata
        if found is None or found.batch_watermark_ms != newest.batch_watermark_ms:
            break
        same.append((found.batch_timestamp_ms, entry.offsets))
    span = same[0][0] - same[-1][0]
    moved = len({offsets for _, offsets in same})
    if moved < _LEAST or span < HOUR_MS:
        return
    yield RULE.find(
        what=(
            f"The watermark has been {moment_text(newest.batch_watermark_ms)} for {len(same)} "
            f"batches and {span_text(span)}, although data arrived. {spark_will(case)} continue "
            "with it: state grows, and windows are not emitted."
        ),
        how="Find the input whose event times do not move.",
        follows_from=(f"offsets/{entries[-1].batch_id}",),
    )


RULE = Rule(
    code="HF422",
    name="watermark-stuck",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
