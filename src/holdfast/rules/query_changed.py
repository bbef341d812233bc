"""HF401: the query is not the one that the checkpoint belongs to, and Spark will refuse it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.stream import StreamEvidence
from holdfast.rules.rule import Finding, Rule


def _judge(evidence: StreamEvidence) -> Iterator[Finding]:
    refused = evidence.query_refused
    if refused is not None:
        yield Finding(
            code=RULE.code,
            name=RULE.name,
            what=(
                f"The query was changed and its checkpoint cannot take it: {refused.because}. "
                f"Spark would say: {refused.error}."
            ),
            how="Start the query as it was, or reset the stream to begin with the new one.",
            accepting="Spark decides; it plans a batch and fails in it, at every start",
            follows_from=refused.follows_from,
        )


RULE = Rule(code="HF401", name="query-changed", judge=_judge)
