"""HF803: a checkpoint location is different in every run."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import CheckpointFault, LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        if program.is_shown_only(query):
            continue
        checkpoint = query.checkpoint
        if checkpoint and (volatile := checkpoint.value.volatile):
            yield RULE.find(
                f"The checkpoint location contains {volatile}, so every start is a new query: "
                "it continues from no earlier run.",
                checkpoint.at,
            )
        is_unnamed = query.step("queryName") is None and query.step("name") is None
        if program.is_configured() and not checkpoint and not query.is_open and is_unnamed:
            yield RULE.find(
                "The session's checkpoint location applies to a query without queryName: Spark "
                "makes a new directory for every start.",
                query.at,
            )


RULE = LintRule(
    code="HF803",
    name="checkpoint-changes-every-run",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
    fault=CheckpointFault.CHANGES,
    change="Set checkpointLocation to a fixed path that outlives the driver.",
)
