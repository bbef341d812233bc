"""Streams that Holdfast takes over from Spark's own sink."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.stream import StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.adopted_batch import find_unanswered, question_about
from holdfast.rules.rule import Finding, proven_batch, stream_rule


@stream_rule("HF610", Severity.DATA_AT_RISK, Confidence.UNKNOWN, Effect.REPEATS, Goal.RESUME)
def adopted_writer_not_fenced(_case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """A checkpoint is adopted, and the sink cannot fence the query that wrote for it before."""
    if not evidence.is_adopting or evidence.newest_planned < 0:
        return
    for sink in evidence.sinks:
        if sink.last_batch is not None or sink.unreadable is not None:
            continue
        yield adopted_writer_not_fenced.find(
            what=(
                f"{evidence.stream} takes over the checkpoint {evidence.binding.checkpoint}, which "
                f"ran without Holdfast up to batch {evidence.newest_planned}. While the old query "
                f"runs, {sink.display_name} cannot refuse what it writes: every batch could be "
                "there twice."
            ),
            how="Stop the old query, check that its driver is gone, and accept.",
            accepting="the old query is assumed to be stopped",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"offsets/{evidence.newest_planned}",),
            sink=sink.sink,
        )


@stream_rule("HF611", Severity.DATA_AT_RISK, Confidence.UNKNOWN, Effect.REPEATS, Goal.RESUME)
def adopted_batch_not_held(_case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """A checkpoint is adopted with a pending batch. This answer: the sink holds none of it."""
    for sink, batch in find_unanswered(evidence):
        yield adopted_batch_not_held.find(
            what=(
                f"Batch {batch} of {evidence.binding.checkpoint} was planned and not "
                f"committed. Whether {sink.display_name} holds its rows is unknown: they were "
                "written without a ledger."
            ),
            how=(
                f"Look for the rows of offsets/{batch}. If none is there, accept HF611. If all "
                "are there, accept HF612. If some are there, delete those, then accept HF611."
            ),
            accepting=f"batch {batch} is written: rows of it that are there are duplicated",
            accepted_batch=evidence.newest_committed,
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
            question=question_about(sink, batch),
        )


@stream_rule("HF612", Severity.DATA_AT_RISK, Confidence.UNKNOWN, Effect.LOSES, Goal.RESUME)
def adopted_batch_held(_case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """A checkpoint is adopted with a pending batch. This answer: the sink holds all of it."""
    for sink, batch in find_unanswered(evidence):
        yield adopted_batch_held.find(
            what=f"The other answer: every row of batch {batch} is in {sink.display_name}.",
            how="If that is so, accept HF612 instead of HF611.",
            accepting=f"batch {batch} is skipped: rows of it that are not there are lost",
            accepted_batch=batch,
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
            question=question_about(sink, batch),
        )
