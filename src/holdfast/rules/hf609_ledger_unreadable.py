"""HF609: the ledger of a sink cannot be read, so that what the sink holds is unknown."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    committed = evidence.newest_committed
    for sink in evidence.sinks:
        if sink.unreadable is None:
            continue
        yield RULE.find(
            what=(
                f"The ledger of {sink.shown} cannot be read: {sink.unreadable.why}. What the sink "
                f"holds of {evidence.stream} is unknown."
            ),
            how=f"Make {sink.shown} readable for this driver, and start again.",
            accepting=(
                f"if there is no ledger row, the sink is assumed to hold batches up to {committed};"
                " if there is one, the start is refused when it takes the fence"
            ),
            accepted_batch=committed,
            follows_from=(sink.sink,),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF609",
    name="ledger-unreadable",
    severity=Severity.REFUSE,
    confidence=Confidence.UNKNOWN,
    goal=Goal.NONE,
    judge=_judge,
)
