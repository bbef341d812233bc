"""HF603: the sink lacks batches that the checkpoint calls done: it was restored or emptied."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.last_batch is None or (sink.row and sink.row.binding != evidence.binding):
            continue
        if sink.last_batch < evidence.newest_committed:
            first = sink.last_batch + 1
            yield Finding(
                code=RULE.code,
                name=RULE.name,
                what=(
                    f"{sink.shown} holds {evidence.stream} up to batch {sink.last_batch}, but "
                    f"commits/{evidence.newest_committed} says that batch "
                    f"{evidence.newest_committed} is done. Batches {first} to "
                    f"{evidence.newest_committed} are missing in the sink: it was restored from a "
                    "backup or failed over to a copy that lagged behind. Spark would not run them "
                    "again."
                ),
                how=f"Rewind the stream to batch {sink.last_batch}, or restore a newer backup.",
                accepting=f"batches {first} to {evidence.newest_committed} stay missing for good",
                follows_from=(f"commits/{evidence.newest_committed}",),
                sink=sink.sink,
            )


RULE = Rule(code="HF603", name="sink-behind-checkpoint", judge=_judge)
