"""HF835: a stream is deduplicated without a watermark."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_DEDUPLICATES = {"dropDuplicates", "drop_duplicates"}


def _judge(program: Program) -> Iterator[LintFinding]:
    found: set[tuple[int, int]] = set()
    for query in program.queries:
        names = [step.name for step in query.source]
        if "readStream" not in names or "withWatermark" in names:
            continue
        for step in query.source[names.index("readStream") :]:
            if step.name in _DEDUPLICATES and step.at not in found:
                found.add(step.at)
                yield RULE.find(
                    "Without withWatermark, the state keeps every key for ever and grows until "
                    "the query fails.",
                    step.at,
                )


RULE = LintRule(
    code="HF835",
    name="deduplication-unbounded",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
