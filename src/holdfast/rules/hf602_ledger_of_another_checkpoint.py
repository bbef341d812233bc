"""HF602: the sink's ledger row belongs to another checkpoint: a clone, a move, a second stream."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    mine = evidence.binding
    for sink in evidence.sinks:
        if sink.row is None or sink.row.binding == mine:
            continue
        theirs = sink.row.binding
        other = (
            f"query {theirs.query_id} at {theirs.checkpoint}"
            if theirs.query_id != mine.query_id
            else f"a copy of this checkpoint at {theirs.checkpoint}"
        )
        yield RULE.find(
            what=(
                f"{sink.shown} holds batch {sink.row.last_batch} of {evidence.stream} from "
                f"{other}, not from query {mine.query_id} at {mine.checkpoint}. Two checkpoints "
                "that write as one stream duplicate or skip each other's batches."
            ),
            how="Start from the checkpoint the sink belongs to, or give this stream its own name.",
            accepting="the sink belongs to this checkpoint from now on, and the other is fenced",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=("metadata",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF602",
    name="ledger-of-another-checkpoint",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.NONE,
    judge=_judge,
)
