"""HF605: the sink's last batch has the same number as in the checkpoint, and other content."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.ledger.coverage import Coverage
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.row is None or sink.row.binding != evidence.binding or sink.row.digest is None:
            continue
        if not isinstance(sink.held, Coverage) or sink.held.digest == sink.row.digest:
            continue
        batch = sink.row.last_batch
        yield RULE.find(
            what=(
                f"{sink.shown} holds batch {batch} of {evidence.stream} with other content "
                f"than offsets/{batch} describes: the entry or the source's log was changed "
                "after the batch was written. From here Spark would read some rows twice, or "
                "not at all."
            ),
            how=f"Restore offsets/{batch} and sources/ as they were when the batch ran.",
            accepting="what the checkpoint says now is taken for what the sink holds",
            accepted_batch=max(batch, evidence.newest_committed),
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF605",
    name="batch-content-changed",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.RESUME,
    judge=_judge,
)
