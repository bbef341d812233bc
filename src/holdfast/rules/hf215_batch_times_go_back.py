"""HF215: a batch is older than the batch before it.

## What it finds

The time in an offset entry is more than a minute before the time in the entry of the batch before
it. Two drivers wrote the log, an older copy was restored over it, or a clock was set back.

## What Spark does

Spark does not compare these times and starts. If two drivers wrote the log, both may have written
batches to the sink under the same numbers, with other ranges.

## What to do

Check that only one driver runs. Compare the sink with the ranges of the batches from there on: look
for gaps and duplicates.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `write` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from holdfast.evidence.case import Case
from holdfast.evidence.read_at_start import changed_files
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import MINUTE_MS, moment_text, with_settings
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None:
        return
    edited = {path for path, _ in changed_files(case.checkpoint)}
    for (batch, earlier), (after, later) in pairwise(with_settings(case.checkpoint)):
        if later.batch_timestamp_ms + MINUTE_MS >= earlier.batch_timestamp_ms:
            continue
        if {f"offsets/{batch}", f"offsets/{after}"} & edited:
            continue  # no driver wrote that time: another rule speaks of it
        yield RULE.find(
            what=(
                f"Batch {after} began at "
                f"{moment_text(later.batch_timestamp_ms)}, before batch {batch} at "
                f"{moment_text(earlier.batch_timestamp_ms)}: two drivers wrote the log, an older "
                "copy was restored, or a clock was set back."
            ),
            how=f"Check that one driver runs, and compare the sink from batch {batch} on.",
            follows_from=(f"offsets/{batch}", f"offsets/{after}"),
        )
        return


RULE = Rule(
    code="HF215",
    name="batch-times-go-back",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
