"""HF601: the sink has no ledger row, and the checkpoint or the history has batches.

## What it finds

The sink has no ledger row for the stream, but the checkpoint has batches. Which of them the sink
holds is unknown.

Possible causes: the row was deleted, the sink is another database than before, the stream is a
clone and got the table of the original, or [Delta has cleaned up its
log](../../guides/delta.md#how-long-the-log-is-kept).

## What Spark does

Spark would continue after the newest committed batch. Batches that this sink lacks would never run
again. A pending batch that it already holds would be written twice.

## What to do

Restore the row from a backup of the ledger. If there is none, compare the rows of the newest
batches with the source, then accept. Or [reset the stream](../../guides/reset.md), so that the
table is filled again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Holdfast writes a new row: the sink is assumed to hold every batch that the checkpoint calls
committed. A pending batch is written again.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_start.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    for sink in evidence.sinks:
        is_own = not sink.forgotten_epoch and not sink.owners
        is_new = (sink.is_added or evidence.is_seeded) and is_own
        is_explained = evidence.is_adopting or is_new or sink.unreadable is not None
        has_batches = evidence.newest_planned >= 0 or sink.forgotten_epoch > 0
        if sink.row is not None or not has_batches or is_explained:
            continue
        yield RULE.find(
            what=_what(evidence, sink),
            how=f"Start {evidence.stream} with a table of its own."
            if sink.owners
            else "If the table or the database is not that of before, start with that of before. "
            f"Else restore the row from a backup of the ledger, or {resetting(case)}.",
            accepting=f"the sink is assumed to hold batches up to {evidence.newest_committed}",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(_read_from(evidence, sink),),
            sink=sink.sink,
        )


def _read_from(evidence: StreamEvidence, sink: SinkEvidence) -> str:
    return f"offsets/{evidence.newest_planned}" if evidence.newest_planned >= 0 else sink.sink


def _what(evidence: StreamEvidence, sink: SinkEvidence) -> str:
    if sink.owners:
        return (
            f"{evidence.stream} is a clone, and {sink.shown} is the table of "
            f"{', '.join(sink.owners)}: the rows of both would be in it twice."
        )
    if evidence.newest_planned < 0:
        return (
            f"{sink.shown} has no ledger row for {evidence.stream}, but its history has batches "
            f"up to epoch {sink.forgotten_epoch}. What the sink holds is unknown: the row was "
            "deleted, and the checkpoint with it."
        )
    return (
        f"{sink.shown} has no ledger row for {evidence.stream}, but the checkpoint has "
        f"batches up to {evidence.newest_planned}. Which of them the sink holds is "
        "unknown: the row was deleted, or the sink is another one."
    )


RULE = Rule(
    code="HF601",
    name="ledger-row-missing",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.UNKNOWN,
    effect=Effect.REPEATS,
    goal=Goal.RESET,
    judge=_judge,
)
