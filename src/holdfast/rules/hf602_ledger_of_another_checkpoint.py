"""HF602: the sink's ledger row belongs to another checkpoint: a clone, a move, a second stream."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.ledger.row import Binding
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
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
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.NONE,
    judge=_judge,
)
