"""HF604: the sink holds batches that the checkpoint has not planned: an old copy of it.

## What it finds

The sink holds batches that the checkpoint has not planned. An old copy of the checkpoint was
restored, or its newest entries were deleted.

## What Spark does

Spark would plan those batches again, with other ranges. Their rows would be duplicated. A sink that
only compares batch numbers would skip rows.

## What to do

Restore the newest copy of the checkpoint, complete with `sources/` and `state/`. If it is gone, the
ledgers bring the checkpoint of a stream without state to where its sinks end. Nothing is lost and
nothing is duplicated:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

The state of the batches since then is in no ledger. Restore a newer copy of a query with state, or
[reset the stream](../../guides/reset.md), so that the state is computed again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

The batches stay in the sink, and Spark reads their data again: those rows are duplicated.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_start.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import can_rebuild, resetting, resuming
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    planned = evidence.newest_planned
    for sink in evidence.sinks:
        if sink.last_batch is None or (sink.row and sink.row.binding != evidence.binding):
            continue
        if not sink.last_batch > planned >= 0:
            continue
        yield RULE.find(
            what=(
                f"{sink.shown} already holds batch {sink.last_batch} of {evidence.stream}, but "
                f"the newest entry in {evidence.binding.checkpoint} is batch {planned}. This "
                f"checkpoint is older than the data: Spark would plan batches {planned + 1} to "
                f"{sink.last_batch} again, with other ranges."
            ),
            how=_how(case),
            goal=Goal.RESET if case.is_stateful else None,
            accepting=(
                f"batches {evidence.newest_committed + 1} to {sink.last_batch} stay in the sink, "
                "and Spark reads their data again: those rows are duplicated"
            ),
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"offsets/{planned}",),
            sink=sink.sink,
        )


def _how(case: Case) -> str:
    if can_rebuild(case):
        return resuming(case, otherwise="")
    lost = " Without it the state since then is lost." if case.is_stateful else ""
    return f"Restore the newest copy of the checkpoint.{lost} To begin again, {resetting(case)}."


RULE = Rule(
    code="HF604",
    name="sink-ahead-of-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    judge=_judge,
)
