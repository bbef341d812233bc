"""HF612: a checkpoint is adopted with a pending batch. This answer: the sink holds all of it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.adopted_batch import find_unanswered, question_about
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    for sink, batch in find_unanswered(evidence):
        yield RULE.find(
            what=f"The other answer: every row of batch {batch} is in {sink.shown}.",
            how="If that is so, accept HF612 instead of HF611.",
            accepting=f"batch {batch} is skipped: rows of it that are not there are lost",
            accepted_batch=batch,
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
            question=question_about(sink, batch),
        )


RULE = Rule(
    code="HF612",
    name="adopted-batch-held",
    severity=Severity.REFUSE,
    confidence=Confidence.UNKNOWN,
    goal=Goal.RESUME,
    judge=_judge,
)
