"""HF222: an older log entry is damaged or was changed; Spark does not read it.

## What it finds

A log entry is empty, cut off or of an unknown version, or it does not fit the checksum that Hadoop
wrote beside it on local disk. A start does not need it.

## What Spark does

Spark reads only the two newest offset entries and the newest commit entry, and starts.

## What to do

Nothing for a restart. The query cannot be taken back to that batch.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `validateOffsetLogAndGetPrevOffset` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_restart_table.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.case import Case
from holdfast.evidence.read_at_start import changed_files, decides_start, is_log_entry
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    checkpoint = case.checkpoint
    if case.overview is None:
        return
    edited = dict(changed_files(checkpoint))
    for path, sidecar in edited.items():
        if is_log_entry(path) and not decides_start(checkpoint, path):
            yield RULE.find(
                what=(
                    f"Spark will not read {path}, which was changed after Spark wrote it: its "
                    "checksum does not fit. The query cannot be taken back to that batch."
                ),
                how="Nothing needs to be done for a restart.",
                follows_from=(path, sidecar),
            )
    older = [*checkpoint.offsets.values()][:-2] + [*checkpoint.commits.values()][:-1]
    for entry in older:
        if isinstance(entry, Unparsed) and not entry.unread and entry.path not in edited:
            yield RULE.find(
                what=(
                    f"Spark will not read {entry.path}, which is damaged ({entry.reason}). The "
                    "query cannot be taken back to that batch."
                ),
                how="Nothing needs to be done for a restart.",
                follows_from=(entry.path,),
            )


RULE = Rule(
    code="HF222",
    name="older-entry-unreadable",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
