"""HF601: the sink has no ledger row, and the checkpoint has batches."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        is_explained = evidence.is_adopting or sink.is_added
        if sink.row is None and evidence.newest_planned >= 0 and not is_explained:
            yield Finding(
                code=RULE.code,
                name=RULE.name,
                what=(
                    f"{sink.shown} has no ledger row of {evidence.stream}, but the checkpoint has "
                    f"batches up to {evidence.newest_planned}. What the sink holds of them cannot "
                    "be told: the row was deleted, or the sink is another one."
                ),
                how="Bring the row back from a backup of the ledger, or reset the stream.",
                accepting=f"the sink is taken to hold batches up to {evidence.newest_committed}",
                follows_from=(f"offsets/{evidence.newest_planned}",),
                sink=sink.sink,
            )


RULE = Rule(code="HF601", name="ledger-row-missing", judge=_judge)
