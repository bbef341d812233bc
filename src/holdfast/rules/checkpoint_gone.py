"""HF606: the sink holds batches of the stream, and its checkpoint is empty: it was deleted."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.row is None or sink.row.last_batch < 0 or evidence.newest_planned >= 0:
            continue
        yield Finding(
            code=RULE.code,
            name=RULE.name,
            what=(
                f"{sink.shown} holds {evidence.stream} up to batch {sink.row.last_batch}, but its "
                f"checkpoint {evidence.binding.checkpoint} has no entries: it was deleted. "
                "Started from here, Spark would begin with batch 0, read again what the source's "
                "options say, and write it a second time or skip what is new."
            ),
            how="Restore the checkpoint; to begin anew on purpose, reset the stream.",
            accepting="everything the source still has comes again: what is there is doubled",
            follows_from=("offsets",),
            sink=sink.sink,
        )


RULE = Rule(code="HF606", name="checkpoint-gone", judge=_judge)
