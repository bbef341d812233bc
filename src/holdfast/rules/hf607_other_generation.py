"""HF607: the sink's ledger row is of another generation than the record's current one."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    current = evidence.generation.number
    for sink in evidence.sinks:
        if sink.row is None or sink.row.generation == current:
            continue
        yield RULE.find(
            what=(
                f"{sink.shown} belongs to generation {sink.row.generation} of {evidence.stream}, "
                f"but the record says {current}: the sink was restored from before a reset, or a "
                "reset was not finished."
            ),
            how="Finish the reset, or restore a backup of the sink from after it.",
            accepting="the sink is assumed to hold what this generation has committed",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"generations/{current:04d}.json",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF607",
    name="other-generation",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.RESET,
    judge=_judge,
)
