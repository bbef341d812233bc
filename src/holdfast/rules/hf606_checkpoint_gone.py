"""HF606: the sink holds batches of the stream, and its checkpoint is empty: it was deleted.

## What it finds

The sink holds batches of the stream, but the checkpoint has no entries. It was deleted, often to
"reset" the job, or the stream was started with another `root=` before.

It also finds the same before the first start of a generation: a plan has put a position into the
checkpoint of the generation, a reset from `here` or a clone, and the checkpoint is empty.

## What Spark does

Spark would begin with batch 0, at the position that the source's options say. With Kafka's
`startingOffsets` at `earliest`, every row is duplicated. With `latest`, the default, everything
since the last batch is lost.

## What to do

If the stream was started with another `root=` before, start it with that. If the checkpoint was
deleted, the ledgers know where the data ends. They give the checkpoint back to a stream without
state, and nothing is read twice or skipped:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

The state of a query is in no ledger. Without a backup of the checkpoint, its open windows, running
totals and seen keys are lost. [Reset the stream](../../guides/reset.md), so that they are
computed again from what the source still has:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Spark begins with batch 0, at the position that the source's options say. Rows that it reads again
are duplicated, unless you emptied or replaced the output first. Rows before that position are
skipped.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `LatestOffsetRangeLimit` in
  [KafkaSourceProvider.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaSourceProvider.scala)
- Measured, in the repository, by `tests/spark/test_start.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.stream import StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import NEW_TABLE, can_rebuild, resetting, resuming
from holdfast.rules.rule import Finding, Rule, proven_batch

_ACCEPTING = (
    "Spark begins with batch 0 where the source's options say: rows that it reads again are "
    "duplicated, rows before that position are skipped"
)


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    held = (sink.row.last_batch for sink in evidence.sinks if sink.row is not None)
    is_empty = evidence.newest_planned < 0
    if is_empty and evidence.generation.first_batch > 0 and max(held, default=-1) < 0:
        yield from (_find_position_gone(case, evidence, sink.sink) for sink in evidence.sinks)
    for sink in evidence.sinks:
        if sink.row is None or sink.row.last_batch < 0 or evidence.newest_planned >= 0:
            continue
        yield RULE.find(
            what=(
                f"{sink.shown} holds {evidence.stream} up to batch {sink.row.last_batch}, but its "
                f"checkpoint {evidence.binding.checkpoint} has no entries: it was deleted, or "
                "the stream was started with another root before. "
                "Spark would begin with batch 0 where the source's options say: it would "
                "duplicate what the sink holds, or skip what came since."
            ),
            how=_how(case),
            goal=Goal.RESET if case.is_stateful else None,
            accepting=_ACCEPTING,
            accepted_batch=proven_batch(evidence, sink),
            follows_from=("offsets",),
            sink=sink.sink,
        )


def _find_position_gone(case: Case, evidence: StreamEvidence, sink: str) -> Finding:
    generation, place = evidence.generation, evidence.binding.checkpoint
    return RULE.find(
        what=(
            f"Generation {generation.number} of {evidence.stream} begins with batch "
            f"{generation.first_batch}: its position is in the checkpoint {place}, which has no "
            "entries. It was deleted. "
            "Spark would begin where the source's options say: it would read again what was not "
            "asked for, or skip what came since."
        ),
        how=f"Restore the checkpoint. To begin again, {resetting(case, output=NEW_TABLE)}.",
        goal=Goal.RESET,
        accepting=_ACCEPTING,
        follows_from=("offsets",),
        sink=sink,
    )


def _how(case: Case) -> str:
    root = "If the stream had another root before, start it with that."
    if can_rebuild(case):
        return f"{root} Otherwise: {resuming(case, otherwise='')}"
    lost = " Without it the state is lost: open windows, running totals and seen keys."
    return (
        f"{root} Otherwise restore the checkpoint.{lost if case.is_stateful else ''} To begin "
        f"again, {resetting(case)}."
    )


RULE = Rule(
    code="HF606",
    name="checkpoint-gone",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    judge=_judge,
)
