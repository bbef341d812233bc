"""HF611: a checkpoint is adopted with a pending batch. This answer: the sink holds none of it.

## What it finds

The stream adopts a checkpoint with a pending batch, and the sink has no ledger that says whether
the batch arrived. This finding is one of two answers: the batch is not there. [HF612](HF612.md) is
the other.

## What Spark does

Spark runs the pending batch again. If the sink already holds its rows, they are duplicated.

## What to do

Look for the rows of the batch. The guide shows
[how](../../guides/adopting.md#3-look-for-the-rows-of-the-pending-batch).

- If none is there, accept this finding.
- If all are there, accept HF612 instead.
- If some are there, delete those rows, then accept this finding.

## What accepting does

The batch is written. Rows of it that are already there are duplicated.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_adopting.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.adopted_batch import find_unanswered, question_about
from holdfast.rules.rule import Finding, Rule


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    for sink, batch in find_unanswered(evidence):
        yield RULE.find(
            what=(
                f"Batch {batch} of {evidence.binding.checkpoint} was planned and not "
                f"committed. Whether {sink.shown} holds its rows is unknown: they were written "
                "without a ledger."
            ),
            how=(
                f"Look for the rows of offsets/{batch}. If none is there, accept HF611. If all "
                "are there, accept HF612. If some are there, delete those, then accept HF611."
            ),
            accepting=f"batch {batch} is written: rows of it that are there are duplicated",
            accepted_batch=evidence.newest_committed,
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
            question=question_about(sink, batch),
        )


RULE = Rule(
    code="HF611",
    name="adopted-batch-not-held",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.UNKNOWN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    judge=_judge,
)
