"""HF801: a query has no checkpoint location."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import CheckpointFault, LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    if program.is_configured():
        return
    for query in program.queries:
        if query.is_open or query.checkpoint or query.format is None:
            continue
        if program.is_shown_only(query):
            continue
        if query.format in {"foreachBatch", "foreach"}:
            does = (
                "Spark makes a new directory for every start, which begins again from the source's"
            )
            message = f"The query has no checkpointLocation. {does} starting position."
        else:
            does = "unless the session sets spark.sql.streaming.checkpointLocation"
            message = f"The query has no checkpointLocation: Spark refuses to start it, {does}."
        yield RULE.find(message, query.at)


RULE = LintRule(
    code="HF801",
    name="no-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
    fault=CheckpointFault.MISSING,
    change="Set checkpointLocation to a fixed path that outlives the driver.",
)
