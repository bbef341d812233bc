"""HF726: the checkpoint has committed batches, and the output directory is empty.

## What it finds

The checkpoint has committed batches, and the output directory has neither data files nor a log. The
query was given another output directory, or its output was deleted.

## What Spark does

Spark writes the next batches into a new log. It fails with `BATCH_METADATA_NOT_FOUND` at the first
batch that compacts the log, every tenth by default, because the entries before it are missing. It
fails at that batch at every start. Until then readers fail too, or see only the new batches. The
rows of the committed batches are not in the new directory.

## What to do

Start with the output directory that the query had before. For a new directory, use a new
checkpoint, from a known position.

## What it cannot see

Whether the query writes here with Spark's file sink at all.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Spark 4.2.0, `BATCH_METADATA_NOT_FOUND` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
- Measured, in the repository, by
  `python -m campaigns.situations file-sink-output-replaced`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs, when_compacted
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    committed = case.newest_committed
    for output in file_outputs(case):
        if output.has_log or output.has_files or committed < 0:
            continue
        fails = when_compacted(output, committed)
        yield RULE.find(
            what=(
                f"{spark_will(case)} go on with batch {committed + 1} in {output.shown}, which "
                "is empty, "
                f"and fail when it compacts the log there, {fails}. The rows "
                f"of {batch_range(0, committed)} are not in it."
            ),
            how="Start with the output that the query had before, or with a new checkpoint too.",
            accepting="the new directory lacks what was committed, and the query fails later",
            follows_from=(f"commits/{committed}", "_spark_metadata"),
        )


RULE = Rule(
    code="HF726",
    name="file-sink-retargeted",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
