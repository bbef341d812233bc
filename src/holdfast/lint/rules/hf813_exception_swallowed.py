"""HF813: foreachBatch catches the exception of a write, so Spark commits the batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_BROAD = {
    "Exception",
    "BaseException",
    "Error",
    "Py4JJavaError",
    "DatabaseError",
    "AnalysisException",
}
_INERT = {
    *("print", "debug", "info", "warning", "warn", "error", "exception", "critical", "log", "str"),
    *("print_exc", "format_exc", "rollback", "close", "repr", "type", "sleep", "time", "now"),
    *("format", "isoformat", "count", "utcnow", "getLogger", "get_logger", "strftime"),
}


def _judge(program: Program) -> Iterator[LintFinding]:
    found: set[ast.AST] = set()
    for batch in program.batch_functions:
        writing = {id(write.call) for write in batch.writes if not write.is_log}
        names = {each.name for each in batch.called if isinstance(each, ast.FunctionDef)}
        writers = {
            each.name
            for each in batch.called
            if isinstance(each, ast.FunctionDef)
            and any(id(inner) in writing for inner in ast.walk(each))
        }
        for function in (batch.function, *batch.called):
            for tried in (each for each in ast.walk(function) if isinstance(each, ast.Try)):
                if tried in found or not _writes(tried, writing, writers & names):
                    continue
                found.add(tried)
                yield from _handlers(program, function, tried)


def _writes(tried: ast.Try, writing: set[int], writers: set[str]) -> bool:
    for each in (inner for statement in tried.body for inner in ast.walk(statement)):
        if isinstance(each, ast.Call):
            name = getattr(each.func, "id", getattr(each.func, "attr", ""))
            if id(each) in writing or name in writers:
                return True
    return False


def _handlers(program: Program, function: ast.AST, tried: ast.Try) -> Iterator[LintFinding]:
    around = program.syntax.chain_of_parents(tried)
    raises = [each.lineno for each in ast.walk(function) if isinstance(each, ast.Raise)]
    last = tried.end_lineno or tried.lineno
    if any(isinstance(each, ast.While) for each in around) or any(at > last for at in raises):
        return
    if any(isinstance(each, ast.Try) and not _all_inert(each) for each in around):
        return
    for handler in tried.handlers:
        if _is_broad(handler) and _is_inert(handler) and not _is_told(program, function, handler):
            yield RULE.find(
                "The exception is caught and the batch is committed: its rows are lost. Let it "
                "raise.",
                (handler.lineno, handler.col_offset + 1),
            )


def _is_told(program: Program, function: ast.AST, handler: ast.ExceptHandler) -> bool:
    """Return whether a handler returns something that a caller in the file looks at."""
    if not any(isinstance(each, ast.Return) and each.value for each in ast.walk(handler)):
        return False
    name = getattr(function, "name", "")
    calls = (
        each
        for each in program.syntax.calls
        if name and name == getattr(each.func, "id", getattr(each.func, "attr", ""))
    )
    return any(not isinstance(program.syntax.parents.get(each), ast.Expr) for each in calls)


def _all_inert(tried: ast.Try) -> bool:
    return all(map(_is_inert, tried.handlers))


def _is_broad(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(getattr(each, "attr", getattr(each, "id", "")) in _BROAD for each in kinds)


def _is_inert(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler only logs and goes on."""
    for each in (inner for statement in handler.body for inner in ast.walk(statement)):
        if isinstance(each, ast.Raise | ast.Try):
            return False
        if isinstance(each, ast.Call):
            name = getattr(each.func, "attr", getattr(each.func, "id", ""))
            if name not in _INERT:
                return False
    return True


RULE = LintRule(
    code="HF813",
    name="exception-swallowed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
