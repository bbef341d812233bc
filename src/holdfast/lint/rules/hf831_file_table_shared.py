"""HF831: two queries write files to one path."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS, Query
from holdfast.lint.rule import LintFinding, LintRule
from holdfast.lint.values import Values


def _judge(program: Program) -> Iterator[LintFinding]:
    for number, query in enumerate(program.queries):
        for earlier in program.queries[:number]:
            if _collide(program, query, earlier):
                yield RULE.find(
                    f"The query started at line {earlier.at[0]} writes to the same path. Spark's "
                    "file sink recognises batches by number only, so batches of one are skipped.",
                    query.at,
                )
                break
    yield from _flows(program)


def _flows(program: Program) -> Iterator[LintFinding]:
    """Yield the second and later flows of a declarative pipeline into one table of files."""
    values = Values(program.syntax)
    formats: dict[str, str] = {}
    found: set[str] = set()
    for call in sorted(program.syntax.calls, key=lambda each: each.lineno):
        given = {each.arg: values.read(each.value).known or "" for each in call.keywords}
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name == "create_streaming_table":
            table = given.get("name") or (values.read(call.args[0]).known if call.args else None)
            formats[table or ""] = given.get("format", "").lower()
        elif name == "append_flow" and formats.get(given.get("target", "")) in FILE_FORMATS:
            if given["target"] in found:
                yield RULE.find(
                    f"Another flow appends to {given['target']}, a table of files. Spark's file "
                    "sink recognises batches by number only, so batches of one are skipped.",
                    (call.lineno, call.col_offset + 1),
                )
            found.add(given["target"])


def _collide(program: Program, one: Query, other: Query) -> bool:
    if one.format not in FILE_FORMATS or other.format not in FILE_FORMATS:
        return False
    if one.target is None or other.target is None or not one.target.is_same(other.target):
        return False
    if one.checkpoint is None or other.checkpoint is None:
        return False
    where = (one.site or one.started, other.site or other.started)
    known = (one.checkpoint.value.known, other.checkpoint.value.known)
    return not program.syntax.is_exclusive(*where) and None not in known and len(set(known)) == 2


RULE = LintRule(
    code="HF831",
    name="file-table-shared",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
