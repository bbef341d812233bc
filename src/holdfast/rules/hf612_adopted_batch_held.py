"""HF612: a checkpoint is adopted with a pending batch. This answer: the sink holds all of it.

## What it finds

The stream adopts a checkpoint with a pending batch, and the sink has no ledger that says whether
the batch arrived. This finding is one of two answers: every row is there. [HF611](HF611.md) is the
other.

## What Spark does

Spark runs the pending batch again. If the sink already holds its rows, they are duplicated.

## What to do

Look for the rows of the batch. If all are there, accept this finding instead of HF611.

## What accepting does

The batch is skipped. Rows of it that are not there are lost.

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
            what=f"The other answer: every row of batch {batch} is in {sink.shown}.",
            how="If that is so, accept HF612 instead of HF611.",
            accepting=f"batch {batch} is skipped: rows of it that are not there are lost",
            accepted_batch=batch,
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
            question=question_about(sink, batch),
        )


RULE = Rule(
    code="HF612",
    name="adopted-batch-held",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.UNKNOWN,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    judge=_judge,
)
