"""HF735: the output holds the batch that runs again, and skipping it fails the query.

## What it finds

A batch of a stateful query was planned and not committed, and the output's log has it. The commit
entry before it names state files, which the setting
`spark.sql.streaming.stateStore.checkpointFormatVersion` 2 makes Spark write.

## What Spark does

The file sink recognises the number of the batch and does not run it. So no task says which state
files the batch has, and Spark fails with `assertion failed: CheckpointInfo length: 0`. It fails in
the same way at every start.

## What to do

Stop the query. Move the log entry of this one batch out of `_spark_metadata`, with its `.crc` file.
Spark then runs the batch again with the same range and lists its new files. Spark's readers do not
see the files of the first attempt, because the log does not list them.

## What accepting does

Spark fails in the same way. Nothing is written.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Spark 4.2.0, `CheckpointInfo length` in
  [statefulOperators.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/operators/stateful/statefulOperators.scala)
- Measured, in the repository, by
  `python -m campaigns.situations file-sink-skip-loses-state`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.commits import CommitEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.file_evidence import file_outputs
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned, committed = case.newest_planned, case.newest_committed
    before = case.checkpoint.commits.get(BatchId(committed))
    if planned <= committed or not isinstance(before, CommitEntry) or not before.state_ids:
        return
    for output in file_outputs(case):
        if output.newest != planned:
            continue
        is_compact = output.compact == planned
        yield RULE.find(
            what=(
                f"Spark will fail in batch {planned} at every start: {output.shown} already holds "
                "the batch, so Spark does not run it and does not learn which state files it has."
            ),
            how=(
                "Start with a new output directory together with a new checkpoint."
                if is_compact
                else f"Move _spark_metadata/{planned} away, so that Spark runs the batch again."
            ),
            accepting="Spark fails in the same way; nothing is written",
            follows_from=(
                f"offsets/{planned}",
                f"commits/{committed}",
                f"_spark_metadata/{planned}",
            ),
        )


RULE = Rule(
    code="HF735",
    name="file-sink-skip-loses-state",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
