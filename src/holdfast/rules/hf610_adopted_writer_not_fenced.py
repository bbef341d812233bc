"""HF610: a checkpoint is adopted, and the sink cannot fence the query that wrote for it before."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
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
    severity=Severity.REFUSE,
    confidence=Confidence.UNKNOWN,
    goal=Goal.NONE,
    judge=_judge,
)
