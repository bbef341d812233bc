"""HF834: complete mode, into a sink that appends."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.chains import ChainLink
from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        if query.output_mode == "complete" and query.format in FILE_FORMATS:
            message = "Spark's file sink supports append mode only, so this query does not start."
            yield RULE.find(message, query.at)
    for batch in program.batch_functions:
        if batch.query.output_mode != "complete" or batch.names_batch:
            continue
        for write in batch.writes:
            if write.mode == "append" and _is_plain(write.steps, batch.batch, write.root):
                yield RULE.find(
                    "In complete mode every batch is the whole result, and this appends it each "
                    "time: rows repeat.",
                    write.at,
                )


def _is_plain(steps: tuple[ChainLink, ...], batch: str, root: ast.expr | None) -> bool:
    is_batch = isinstance(root, ast.Name) and root.id == batch
    return is_batch and bool(steps) and steps[0].name == "write"


RULE = LintRule(
    code="HF834",
    name="complete-result-appended",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
