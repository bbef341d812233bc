"""HF611: a checkpoint is adopted with a pending batch. This answer: the sink holds none of it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.adopted_batch import find_unanswered, question_about
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink, batch in find_unanswered(evidence):
        yield RULE.find(
            what=(
                f"Batch {batch} of {evidence.binding.checkpoint} was planned and not "
                f"committed. Whether {sink.shown} holds its rows is unknown: they were written "
                "without a ledger."
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


RULE = Rule(
    code="HF611",
    name="adopted-batch-not-held",
    severity=Severity.REFUSE,
    confidence=Confidence.UNKNOWN,
    goal=Goal.RESUME,
    judge=_judge,
)
