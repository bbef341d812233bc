"""HF725: the output directory has data files, and its log is gone.

## What it finds

The checkpoint has committed batches, and the output directory has data files but no
`_spark_metadata`. The log of the file sink was deleted.

## What Spark does

Spark writes the next batches into a new log. It fails with `BATCH_METADATA_NOT_FOUND` at the first
batch that compacts the log, every tenth by default, because the entries before it are missing. It
fails at that batch at every start. Until then readers fail too, or see only the new batches.

## What to do

Restore `_spark_metadata` from a copy. If there is none, start with a new output directory together
with a new checkpoint, from a known position.

## What it cannot see

Whether the query writes here with Spark's file sink at all: a function called by `foreachBatch`
leaves no log either.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Spark 4.2.0, `BATCH_METADATA_NOT_FOUND` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m campaigns.situations file-sink-log-deleted`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs, when_compacted
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for output in file_outputs(case):
        if output.has_log or not output.has_files or committed < 0:
            continue
        fails = when_compacted(output, committed)
        yield RULE.find(
            what=(
                f"Spark will fail when it compacts the log of {output.shown}, {fails}: "
                f"_spark_metadata is gone, although {committed + 1:,} batches were "
                "committed. Until then readers do not see the files that are there."
            ),
            how="Restore _spark_metadata from a copy, or use a new output with a new checkpoint.",
            accepting="readers lose sight of the files that are there, and the query fails later",
            follows_from=(f"commits/{committed}", "_spark_metadata"),
        )


RULE = Rule(
    code="HF725",
    name="file-sink-log-deleted",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
