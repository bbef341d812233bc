"""HF611 and HF612: a checkpoint is adopted in the middle of a batch, which may be in the sink.

The sink had no ledger then and cannot tell. Whoever knows says it, by accepting one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _untold(evidence: StreamEvidence) -> Iterator[tuple[SinkEvidence, int]]:
    """Yield the sinks that cannot tell whether they hold a batch in hand, and that batch."""
    batch = evidence.newest_planned
    if evidence.is_adopting and batch > evidence.newest_committed:
        yield from ((sink, batch) for sink in evidence.sinks if sink.last_batch is None)


def _judge_not_held(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink, batch in _untold(evidence):
        yield Finding(
            code=NOT_HELD.code,
            name=NOT_HELD.name,
            what=(
                f"Batch {batch} of {evidence.binding.checkpoint} was planned and not "
                f"committed. Whether {sink.shown} holds its rows cannot be told: they were "
                "written without a ledger."
            ),
            how=(
                f"Look for rows of offsets/{batch}. If none is there accept this; if all are "
                "accept HF612; if some are, delete those first."
            ),
            accepting=f"batch {batch} is written: rows of it that are there are doubled",
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
        )


def _judge_held(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink, batch in _untold(evidence):
        yield Finding(
            code=HELD.code,
            name=HELD.name,
            what=f"The other answer: every row of batch {batch} is in {sink.shown}.",
            how="Accept this instead of HF611 when that is so.",
            accepting=f"batch {batch} is skipped: rows of it that are not there are lost",
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
        )


NOT_HELD = Rule(code="HF611", name="adopted-batch-not-held", judge=_judge_not_held)
HELD = Rule(code="HF612", name="adopted-batch-held", judge=_judge_held)
