"""HF603: the sink lacks batches that the checkpoint calls done: it was restored or emptied."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
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
            how=f"Restore a newer backup, or rewind the stream to batch {sink.last_batch}.",
            accepting=f"batches {first} to {committed} stay missing for good",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"commits/{committed}",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF603",
    name="sink-behind-checkpoint",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.REPLAY,
    judge=_judge,
)
