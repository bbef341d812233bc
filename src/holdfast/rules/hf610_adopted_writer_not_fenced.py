"""HF610: a checkpoint is adopted, and the sink cannot fence the query that wrote for it before.

## What it finds

The stream adopts a checkpoint that ran without Holdfast, and the sink cannot fence the old query.
PostgreSQL cannot. A Delta table that was written by Delta's own sink can.

## What Spark does

If the old query still runs, both queries write the same batches, and every batch could be in the
sink twice.

## What to do

Stop the old query, check that its driver is gone, and accept. The guide goes [step by
step](../../guides/adopting.md).

## What accepting does

The old query is assumed to be stopped. The ledger row says what the checkpoint has committed.

## Where this comes from

- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Measured, in the repository, by `tests/spark/test_adopting.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    if not evidence.is_adopting or evidence.newest_planned < 0:
        return
    for sink in evidence.sinks:
        if sink.last_batch is not None or sink.unreadable is not None:
            continue
        yield RULE.find(
            what=(
                f"{evidence.stream} takes over the checkpoint {evidence.binding.checkpoint}, which "
                f"ran without Holdfast up to batch {evidence.newest_planned}. While the old query "
                f"runs, {sink.shown} cannot refuse what it writes: every batch could be there "
                "twice."
            ),
            how="Stop the old query, check that its driver is gone, and accept.",
            accepting="the old query is assumed to be stopped",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"offsets/{evidence.newest_planned}",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF610",
    name="adopted-writer-not-fenced",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.UNKNOWN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    judge=_judge,
)
