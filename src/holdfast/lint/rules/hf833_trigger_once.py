"""HF833: the trigger once is deprecated."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        step = query.step("trigger")
        given = step.text(9, "once") if step else None
        if step and given and given.known == "True":
            yield RULE.find(
                "trigger(once=True) is deprecated. It reads everything in one batch, and after a "
                "failure it runs the failed batch alone. Use availableNow=True.",
                step.at,
            )


RULE = LintRule(
    code="HF833",
    name="trigger-once",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
