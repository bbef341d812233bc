"""The pending batch of a checkpoint that is adopted: HF611 and HF612 are the two answers to it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import SinkEvidence, StreamEvidence


def find_unanswered(evidence: StreamEvidence) -> Iterator[tuple[SinkEvidence, int]]:
    """Yield each sink that cannot say whether it holds the pending batch, and that batch."""
    batch = evidence.newest_planned
    if evidence.is_adopting and batch > evidence.newest_committed:
        for sink in evidence.sinks:
            if sink.last_batch is None and sink.unreadable is None:
                yield sink, batch


def question_about(sink: SinkEvidence, batch: int) -> str:
    """Return the question that both rules answer."""
    return f"Does {sink.sink} hold batch {batch}?"
