"""HF223: older log entries are missing; Spark does not read them.

## What it finds

Entries between the oldest and the newest one are missing from `offsets/` or `commits/`, and a start
does not need them. Async progress tracking, a partial copy or a manual deletion causes gaps.

## What Spark does

Spark does not look at older entries, and starts.

## What to do

Nothing for a restart. A batch without a commit entry may never have reached the sink: check the
sink if you do not know why the entry is missing. The query cannot be taken back to these batches.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark's documentation:
  [Asynchronous Progress Tracking](https://spark.apache.org/docs/latest/streaming/performance-tips.html#asynchronous-progress-tracking)
- Measured, in the repository, by `tests/spark/test_restart_table.py`
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.log_entries import batches_text
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    checkpoint = case.checkpoint
    if case.overview is None:
        return
    newest = case.newest_planned
    for log, entries in (("offsets", checkpoint.offsets), ("commits", checkpoint.commits)):
        gaps = [batch for batch in _gaps(entries) if log == "commits" or batch < newest - 1]
        if gaps:
            yield RULE.find(
                what=(
                    f"Spark will not notice that {log}/ has no entry of {batches_text(gaps)}. The "
                    "query cannot be taken back to there."
                ),
                how="Nothing needs to be done for a restart, if you know why they are missing.",
                follows_from=(f"{log}/",),
            )


def _gaps(entries: Collection[int]) -> list[int]:
    if not entries or len(entries) > max(entries) - min(entries):
        return []
    # A damaged name can be any number: what lies between is not counted up to.
    first, last = min(entries), max(entries)
    return [batch for batch in range(max(first, last - 1_000), last) if batch not in entries]


RULE = Rule(
    code="HF223",
    name="log-has-gaps",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
