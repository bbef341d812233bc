"""HF832: a program ends while its query runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_WAITS = {
    *("awaitTermination", "awaitAnyTermination", "processAllAvailable", "isActive", "active"),
    *("sleep", "input", "wait", "join", "run_forever", "serve_forever", "pause", "exception"),
}


def _judge(program: Program) -> Iterator[LintFinding]:
    is_program = "getOrCreate" in program.names
    if program.is_notebook or not is_program or _WAITS & program.names:
        return
    for query in program.queries:
        if query.site is None and _ends(program, query.started):
            yield RULE.find(
                "Nothing waits for this query: the program ends and stops it. Call "
                "awaitTermination().",
                query.at,
            )


def _ends(program: Program, started: ast.Call) -> bool:
    """Return whether a query is started by the program itself and not handed to anything."""
    syntax = program.syntax
    if not isinstance(syntax.scope_of(started), ast.Module):
        return False
    match syntax.parents.get(started):
        case ast.Expr():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            names = [e for e in ast.walk(syntax.tree) if isinstance(e, ast.Name) and e.id == name]
            return len(names) == 1
        case _:
            return False


RULE = LintRule(
    code="HF832",
    name="not-awaited",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
