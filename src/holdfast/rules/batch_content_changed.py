"""HF605: the sink's last batch has the same number as in the checkpoint, and other content."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.row is None or sink.row.binding != evidence.binding or sink.row.digest is None:
            continue
        if sink.held is None or isinstance(sink.held, Unparsed):
            continue
        if sink.held.digest != sink.row.digest:
            batch = sink.row.last_batch
            yield Finding(
                code=RULE.code,
                name=RULE.name,
                what=(
                    f"{sink.shown} holds batch {batch} of {evidence.stream} with other content "
                    f"than offsets/{batch} says: the entry or the source's log was changed after "
                    "the batch was written. Going on from here would read some of it twice, or "
                    "not at all."
                ),
                how=f"Restore offsets/{batch} and sources/ as they were when the batch ran.",
                accepting="what the checkpoint says now is taken for what the sink holds",
                follows_from=(f"offsets/{batch}",),
                sink=sink.sink,
            )


RULE = Rule(code="HF605", name="batch-content-changed", judge=_judge)
