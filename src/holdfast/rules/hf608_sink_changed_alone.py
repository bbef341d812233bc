"""HF608: the sink was changed, and its ledger was not."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity, proven_batch


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.row is None or sink.contradicts is None:
            continue
        yield RULE.find(
            what=(
                f"The ledger says that {sink.shown} holds {evidence.stream} up to batch "
                f"{sink.row.last_batch}, but {sink.contradicts}. The table was changed without "
                "its ledger, and Spark would not run those batches again."
            ),
            how="Restore table and ledger together, or reset the stream to fill the table again.",
            accepting="missing rows stay missing, duplicate rows stay, and the stream goes on",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"batch {sink.row.last_batch} in the ledger",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF608",
    name="sink-changed-alone",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.RESET,
    judge=_judge,
)
