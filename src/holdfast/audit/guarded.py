"""Queries that Holdfast starts: `hf.start`, `hf.guard`, and the streams of an `hf.Pipeline`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.audit.model import AuditedQuery
from holdfast.grades import Confidence, Effect, Recognises
from holdfast.lint.chains import read_chain
from holdfast.lint.query_facts import QueryReader, show_text
from holdfast.lint.query_in_code import Written
from holdfast.lint.syntax import Syntax
from holdfast.lint.values import Values
from holdfast.lint.volatile import name_of

_STARTS = frozenset({"start", "guard"})
_GUARDED = "Holdfast's ledger in the sink holds the batch and its offsets."
_OWN_FUNCTION = (
    "hf.ForeachBatch calls its function at least once, if the function recognises a batch."
)
_SKIPS = "Spark runs the unfinished batch again, and the sink recognises it."


def find_guarded(reader: QueryReader) -> Iterator[AuditedQuery]:
    """Yield the queries of a program that Holdfast starts."""
    syntax = reader.program.syntax
    modules, functions = _imported(syntax)
    if not modules and not functions:
        return
    for call in syntax.calls:
        if _is_ours(call, modules, functions):
            yield _read(reader, call)


def _imported(syntax: Syntax) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names by which the program calls holdfast, and those of its functions."""
    modules: set[str] = set()
    functions: set[str] = set()
    for node in syntax.imports:
        for each in node.names:
            if isinstance(node, ast.Import) and each.name == "holdfast":
                modules.add(each.asname or each.name)
            elif isinstance(node, ast.ImportFrom) and node.module == "holdfast":
                functions.add(each.asname or each.name)
    return frozenset(modules), frozenset(functions)


def _is_ours(call: ast.Call, modules: frozenset[str], functions: frozenset[str]) -> bool:
    has_sink = any(each.arg == "into" for each in call.keywords)
    match call.func:
        case ast.Name(id=name):
            return has_sink and name in functions & _STARTS
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in modules:
            return has_sink and name in _STARTS
        case ast.Attribute(attr="stream"):
            return has_sink  # of a pipeline
        case _:
            return False


def _read(reader: QueryReader, call: ast.Call) -> AuditedQuery:
    syntax = reader.program.syntax
    values = Values(syntax)
    given = {each.arg: each.value for each in call.keywords if each.arg}
    named = given.get("stream") or next((a for a in call.args if isinstance(a, ast.Constant)), None)
    into = given["into"]
    place = reader.place((call.lineno, call.col_offset + 1))
    is_own = any(
        name_of(each) == "ForeachBatch" for each in ast.walk(into) if isinstance(each, ast.expr)
    )
    cell, line = reader.source.place(call.lineno)
    checkpoint = given.get("checkpoint")
    mode = given.get("outputMode")
    return AuditedQuery(
        file=reader.path,
        cell=cell,
        line=line,
        written_line=line,
        name=values.read(named).known if named is not None else None,
        is_guarded=True,
        source=Written(_source(call, values), place),
        sink=Written(ast.unparse(into)[:200], place),
        output_mode=Written("append" if mode is None else values.read(mode).known, place),
        trigger=Written(ast.unparse(given["trigger"]) if "trigger" in given else None, place),
        checkpoint=Written(
            "the stream's own, below its root"
            if checkpoint is None
            else show_text(values.read(checkpoint)),
            place,
        ),
        recognises=Recognises.DEPENDS if is_own else Recognises.YES,
        why=_OWN_FUNCTION if is_own else _GUARDED,
        why_place=place,
        effects=(Effect.NONE,),
        confidence=Confidence.LIKELY if is_own else Confidence.CERTAIN,
        after_kill=f"No row is lost or duplicated, if this holds: {_OWN_FUNCTION}"
        if is_own
        else _SKIPS,
    )


def _source(call: ast.Call, values: Values) -> str | None:
    """Return the format of the source of `hf.start(df, …)`, if the frame can be followed."""
    if not call.args:
        return None
    names = [each for each in read_chain(call.args[0], values).steps if each.name == "format"]
    given = names[0].text(0, "source") if names else None
    return given.known if given is not None else None
