"""HF607: the sink's ledger row is of another generation than the record's current one."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    current = evidence.generation.number
    for sink in evidence.sinks:
        if sink.row is None or sink.row.generation == current:
            continue
        yield Finding(
            code=RULE.code,
            name=RULE.name,
            what=(
                f"{sink.shown} is of generation {sink.row.generation} of {evidence.stream}, the "
                f"record says {current}: the sink was restored from before a reset, or the reset "
                "was not finished."
            ),
            how="Finish the reset, or restore a backup of the sink from after it.",
            accepting="the sink is taken to hold what this generation has committed",
            follows_from=(f"generations/{current:04d}.json",),
            sink=sink.sink,
        )


RULE = Rule(code="HF607", name="other-generation", judge=_judge)
