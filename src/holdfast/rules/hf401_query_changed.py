"""HF401: the query is not the one that the checkpoint belongs to, and Spark will refuse it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Confidence, Finding, Goal, Rule, Severity


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    refused = evidence.query_refused
    if refused is not None:
        yield RULE.find(
            what=(
                f"The query was changed, and its checkpoint cannot take it: {refused.because}. "
                f"Spark would fail with: {refused.error}."
            ),
            how="Start the query as it was, or reset the stream to begin with the new query.",
            accepting="Spark decides; it plans a batch and fails in it, at every start",
            follows_from=refused.follows_from,
        )


RULE = Rule(
    code="HF401",
    name="query-changed",
    severity=Severity.REFUSE,
    confidence=Confidence.CERTAIN,
    goal=Goal.RESET,
    judge=_judge,
)
