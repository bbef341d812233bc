"""HF604: the sink holds batches that the checkpoint has not planned: an old copy of it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.last_batch is None or (sink.row and sink.row.binding != evidence.binding):
            continue
        if sink.last_batch > evidence.newest_planned >= 0:
            first = evidence.newest_planned + 1
            yield Finding(
                code=RULE.code,
                name=RULE.name,
                what=(
                    f"{sink.shown} already holds batch {sink.last_batch} of {evidence.stream}, "
                    f"but the newest entry in {evidence.binding.checkpoint} is batch "
                    f"{evidence.newest_planned}. This checkpoint is older than the data: started "
                    f"from here, Spark would plan batches {first} to {sink.last_batch} again "
                    "with other ranges."
                ),
                how="If an old copy of the checkpoint was restored, restore the newest one.",
                accepting=(
                    f"batches {evidence.newest_committed + 1} to {sink.last_batch} stay in "
                    "the sink, and their data comes again: it is doubled"
                ),
                follows_from=(f"offsets/{evidence.newest_planned}",),
                sink=sink.sink,
            )


RULE = Rule(code="HF604", name="sink-ahead-of-checkpoint", judge=_judge)
