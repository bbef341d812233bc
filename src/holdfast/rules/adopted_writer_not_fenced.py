"""HF610: a checkpoint is adopted, and whoever wrote for it before cannot be fenced by the sink."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.last_batch is not None or not evidence.is_adopting or evidence.newest_planned < 0:
            continue
        yield Finding(
            code=RULE.code,
            name=RULE.name,
            what=(
                f"{evidence.stream} takes over the checkpoint {evidence.binding.checkpoint}, which "
                f"ran without Holdfast up to batch {evidence.newest_planned}. {sink.shown} cannot "
                "refuse what that query still writes: while it lives, every batch could be there "
                "twice."
            ),
            how="Stop the old query, see that its driver is gone, and accept.",
            accepting="the old query is taken for stopped",
            follows_from=(f"offsets/{evidence.newest_planned}",),
            sink=sink.sink,
        )


RULE = Rule(code="HF610", name="adopted-writer-not-fenced", judge=_judge)
