"""HF602: the sink's ledger row belongs to another checkpoint: a clone, a move, a second stream.

## What it finds

The sink's ledger row belongs to another query id or another location. The checkpoint was copied or
moved, or two environments share a stream name and a database.

## What Spark does

Two checkpoints that write as one stream duplicate or skip each other's batches: both count from
their own batch 0.

## What to do

Start from the checkpoint that the sink belongs to. If both streams are wanted, give one of them
another name and another table. If the checkpoint was moved on purpose, stop the old driver and
accept.

## What accepting does

The sink belongs to this checkpoint from now on, and the other one is fenced: its next batch is
refused. The row says what this checkpoint has committed.

## Where this comes from

- Spark 4.2.0, `read` in
  [StreamMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamMetadata.scala)
- Measured, in the repository, by `tests/spark/test_start.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.stream import StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ledger.row import Binding
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    mine = evidence.binding
    for sink in evidence.sinks:
        if sink.row is None or sink.row.binding == mine:
            continue
        yield RULE.find(
            what=(
                f"{sink.shown} holds batch {sink.row.last_batch} of {evidence.stream} from "
                f"{_describe(evidence, sink.row.binding)}. Two checkpoints that write as one "
                "stream duplicate or skip each other's batches."
            ),
            how="Start from the checkpoint the sink belongs to, with the root of before, or give "
            "this stream its own name.",
            accepting="the sink belongs to this checkpoint from now on, and the other is fenced",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=("metadata",),
            sink=sink.sink,
        )


def _describe(evidence: StreamEvidence, theirs: Binding) -> str:
    """Say whose row it is, and whose it would have to be.

    A new stream has no query id before it is written down: named, it would be another at every
    start, and with it the nonce.
    """
    mine = evidence.binding
    if theirs.query_id == mine.query_id:
        return f"a copy of this checkpoint at {theirs.checkpoint}, not from {mine.checkpoint}"
    query = f"query {mine.query_id}" if evidence.newest_planned >= 0 else "this new query"
    if theirs.checkpoint == mine.checkpoint:
        return f"query {theirs.query_id}, which had this checkpoint before, not from {query}"
    return f"query {theirs.query_id} at {theirs.checkpoint}, not from {query} at {mine.checkpoint}"


RULE = Rule(
    code="HF602",
    name="ledger-of-another-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    judge=_judge,
)
