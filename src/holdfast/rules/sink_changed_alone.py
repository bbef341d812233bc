"""HF608: the sink was changed, and its ledger was not."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink in evidence.sinks:
        if sink.row is None or sink.contradicts is None:
            continue
        yield Finding(
            code=RULE.code,
            name=RULE.name,
            what=(
                f"The ledger says that {sink.shown} holds {evidence.stream} up to batch "
                f"{sink.row.last_batch}, but {sink.contradicts}. It was changed without its "
                "ledger, and Spark would not run those batches again."
            ),
            how="Restore table and ledger together, or reset the stream to fill the table again.",
            accepting="what is gone stays missing, what is there twice stays; the stream goes on",
            follows_from=(f"batch {sink.row.last_batch} in the ledger",),
            sink=sink.sink,
        )


RULE = Rule(code="HF608", name="sink-changed-alone", judge=_judge)
