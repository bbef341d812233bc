"""HF227: a source has begun, and batch 0 was never planned, or its entries were deleted.

## What it finds

There are no offset entries, no commits and no state, and `sources/` holds what a start writes
before it plans batch 0. Either the first start was killed there, or `offsets/` and `commits/` were
deleted later.

## What Spark does

Spark plans batch 0. After a kill in the first start that is right, and nothing was written before.
If the logs were deleted, the source begins again where it first began, and the sink keeps what it
has: rows are duplicated.

## What to do

Look at the sink. If it has rows of this query, restore `offsets/` and `commits/`, or [reset the
stream](../../guides/reset.md). If it has none, start the query.

## What it cannot see

Which of the two happened. Name the sink with `--sink`: the rules about sinks tell whether it holds
batches.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `verifyNewCheckpointDirectory` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `getOrCreateInitialPartitionOffsets` in
  [KafkaMicroBatchStream.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaMicroBatchStream.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import StartsFresh
from holdfast.evidence.verdict import has_only_begun
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if not isinstance(start, StartsFresh) or not has_only_begun(case.checkpoint):
        return
    yield RULE.find(
        what=(
            "Spark will begin with batch 0. That is right if the first start was killed before it "
            "planned a batch; if offsets/ and commits/ were deleted, everything is read again and "
            "rows are duplicated."
        ),
        how="Check that the sink has no rows of this query; if it has, restore offsets/ first.",
        follows_from=(*start.follows_from, "sources/"),
    )


RULE = Rule(
    code="HF227",
    name="first-batch-not-planned",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
