"""HF603: the sink lacks batches that the checkpoint calls done: it was restored or emptied.

## What it finds

The sink lacks batches that the checkpoint calls committed. It was restored from a backup, or it
failed over to a replica that lagged. Data and ledger went back together, and the checkpoint did
not.

## What Spark does

Spark would continue after the newest committed batch. The batches in between would be lost.

## What to do

Restore a newer backup of the sink. If there is none, rewind the stream to the last batch that the
sink holds. The finding prints the command with the number of that batch:

```sh
holdfast plan rewind STREAM --root ROOT --to-batch 2 -o plan.json
```

Spark keeps the entries of about the last 100 batches. If the batch is older, there is no such plan:
[reset the stream](../../guides/reset.md).

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

The missing batches are lost. The ledger row then says what the checkpoint has committed.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_start.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import REWIND, plan_command, resetting
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    committed = evidence.newest_committed
    for sink in evidence.sinks:
        if sink.last_batch is None or (sink.row and sink.row.binding != evidence.binding):
            continue
        if sink.last_batch >= committed:
            continue
        first = sink.last_batch + 1
        yield RULE.find(
            what=(
                f"{sink.shown} holds {evidence.stream} up to batch {sink.last_batch}, but "
                f"commits/{committed} says that batch {committed} is done. Batches {first} to "
                f"{committed} are missing in the sink: it was restored from a backup or failed "
                "over to a copy that lagged behind. Spark would not run them again."
            ),
            how=_how(case, sink.last_batch),
            accepting=f"batches {first} to {committed} stay missing for good",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"commits/{committed}",),
            sink=sink.sink,
        )


def _how(case: Case, held: int) -> str:
    if held < 0:
        return f"Restore a newer backup, or {resetting(case)}."
    command = plan_command(case, REWIND, f"--to-batch {held}")
    return (
        f"Restore a newer backup, or rewind the stream to batch {held} with {command}. If the "
        f"checkpoint no longer has batch {held}, {resetting(case)}."
    )


RULE = Rule(
    code="HF603",
    name="sink-behind-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    judge=_judge,
)
