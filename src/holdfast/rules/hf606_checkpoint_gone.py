"""HF606: the sink holds batches of the stream, and its checkpoint is empty: it was deleted."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
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
            how="Start it with the root of before, or restore the checkpoint. To begin anew on "
            "purpose, reset the stream.",
            accepting=(
                "Spark begins with batch 0 where the source's options say: rows that it reads "
                "again are duplicated, rows before that position are skipped"
            ),
            accepted_batch=proven_batch(evidence, sink),
            follows_from=("offsets",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF606",
    name="checkpoint-gone",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.RESET,
    judge=_judge,
)
