"""HF609: the ledger of a sink cannot be read, so that what the sink holds is unknown.

## What it finds

The ledger of a sink cannot be read, so it is unknown which batches the sink holds. The server does
not answer, or the driver lacks a permission.

## What Spark does

Spark would continue after the newest committed batch, whatever the sink holds.

## What to do

Give this driver access to the sink, and start again. The finding names the place and the reason.

## What accepting does

If the ledger turns out to have no row, the sink is assumed to hold every batch that the checkpoint
calls committed. If it has a row, the start is refused when it takes the fence.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Rule


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    committed = evidence.newest_committed
    for sink in evidence.sinks:
        if sink.unreadable is None:
            continue
        yield RULE.find(
            what=(
                f"The ledger of {sink.shown} cannot be read: {sink.unreadable.why.rstrip('.')}. "
                f"What the sink holds of {evidence.stream} is unknown."
            ),
            how=f"Make {sink.shown} readable for this driver, and start again.",
            accepting=(
                f"if there is no ledger row, the sink is assumed to hold batches up to {committed};"
                " if there is one, the start is refused when it takes the fence"
            ),
            accepted_batch=committed,
            follows_from=(sink.sink,),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF609",
    name="ledger-unreadable",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.UNKNOWN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    judge=_judge,
)
