"""HF119: the checkpoint was copied: its files are all of one moment.

## What it finds

All offset entries were written within a minute by the store's clock, but their batches span more
than ten minutes.

## What Spark does

Spark does not notice a copy and starts. It continues from the age of the copy: what the sink got
since then is duplicated, or skipped.

## What to do

Make sure that the original is not started any more, and that the sink is of the same age. Name the
sink with `--sink`.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `isBatchFile` and `getLatestBatchId` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import MINUTE_MS, span_text, with_settings
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule

_LEAST = 5


def _judge(case: Case) -> Iterator[Finding]:
    written = sorted(at for path, at in case.times.items() if path.startswith("offsets/"))
    began = [each.batch_timestamp_ms for _, each in with_settings(case.checkpoint)]
    if case.overview is None or len(written) < _LEAST or len(began) < _LEAST:
        return
    span = max(began) - min(began)
    if written[-1] - written[0] > timedelta(minutes=1) or span < 10 * MINUTE_MS:
        return
    yield RULE.find(
        what=(
            f"The checkpoint was copied at {written[-1]:%Y-%m-%d %H:%M} UTC: its batches span "
            f"{span_text(span)}, and its files were written within a minute. "
            f"{spark_will(case)} continue from the age of the copy."
        ),
        how="Check that the original is not started any more, and that the sink has the same age.",
        follows_from=("offsets/",),
    )


RULE = Rule(
    code="HF119",
    name="checkpoint-copied",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
