"""HF604: the sink holds batches that the checkpoint has not planned: an old copy of it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
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
            how="If an old copy of the checkpoint was restored, restore the newest one.",
            accepting=(
                f"batches {evidence.newest_committed + 1} to {sink.last_batch} stay in the sink, "
                "and Spark reads their data again: those rows are duplicated"
            ),
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"offsets/{planned}",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF604",
    name="sink-ahead-of-checkpoint",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.RESUME,
    judge=_judge,
)
