"""Functions of `foreachBatch`: what they write, and how."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.lint.chains import Step, bind, read_chain
from holdfast.lint.queries import Option, Query, read_options
from holdfast.lint.syntax import Function, Syntax, parameters_of
from holdfast.lint.values import Text, Values

_SAVES = frozenset({"save", "saveAsTable", "insertInto", "jdbc", "parquet", "json", "csv", "orc"})
_EXECUTES = frozenset({"execute", "executemany", "execute_values", "execute_batch"})
_LOGS = frozenset({"print", "debug", "info", "warning", "warn", "error", "exception", "log"})
_SHOWS = _LOGS | {"show", "printSchema", "count", "format", "head", "len", "str", "limit", "select"}
_INSERT = re.compile(r"\s*insert\s+into\b", re.IGNORECASE)
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Write:
    """One write in a batch function: of a DataFrame, or an INSERT."""

    call: ast.Call
    at: tuple[int, int]
    mode: str | None
    """None if it cannot be told."""
    format: str | None
    options: dict[str, Option]
    steps: tuple[Step, ...]
    root: ast.expr | None


@dataclass(frozen=True, slots=True)
class BatchFunction:
    """A function of `foreachBatch`, with the functions of the file that it calls."""

    query: Query
    function: Function
    called: tuple[Function, ...]
    writes: tuple[Write, ...]
    names_batch: bool
    """Whether the batch id is used for anything but logging."""

    @property
    def text(self) -> str:
        """Its code, to look for words in."""
        return "\n".join(ast.unparse(each) for each in (self.function, *self.called))

    @property
    def only_shows(self) -> bool:
        """Whether all it does is to print rows."""
        calls = (each for each in ast.walk(self.function) if isinstance(each, ast.Call))
        names = {getattr(each.func, "attr", getattr(each.func, "id", "")) for each in calls}
        return names <= _SHOWS

    @property
    def batch(self) -> str:
        """The name of the DataFrame."""
        return next(iter(parameters_of(self.function)), "")


def find_batch_functions(queries: tuple[Query, ...]) -> tuple[BatchFunction, ...]:
    """Return the function of every `foreachBatch` that is in the file."""
    found: list[BatchFunction] = []
    for query in queries:
        step = query.step("foreachBatch")
        given = step.argument(0, "func") if step else None
        if step is None or given is None:
            continue
        function, values = _function_of(given, step.values)
        if function is not None:
            found.append(_read(query, function, values))
    return tuple(found)


def _function_of(node: ast.expr, values: Values) -> tuple[Function | None, Values]:
    """Return the function that an expression stands for."""
    node, values = values.resolve(node)
    functions = values.syntax.functions
    match node:
        case ast.Lambda():
            return node, values
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            found = functions.get(name, [])
            return (found[0] if len(found) == 1 else None), values
        case ast.Call(
            func=ast.Name(id="partial") | ast.Attribute(attr="partial"), args=[first, *_]
        ):
            return _function_of(first, values)
        case ast.Call(func=ast.Name(id=name)) if len(functions.get(name, [])) == 1:
            (factory,) = functions[name]
            inner = [e for e in ast.walk(factory) if isinstance(e, ast.FunctionDef)][1:]
            return (inner[0] if len(inner) == 1 else None), bind(factory, node, values)
        case _:
            return None, values


def _read(query: Query, function: Function, values: Values) -> BatchFunction:
    called: list[tuple[Function, Values]] = [(function, values)]
    for depth in range(_DEEPEST):
        new = [each for owner, seen in called for each in _calls_inside(owner, seen)]
        known = {each for each, _ in called}
        fresh = [(each, seen) for each, seen in new if each not in known]
        called += {each: (each, seen) for each, seen in fresh}.values()
        if not fresh or depth == _DEEPEST:
            break
    writes = tuple(write for each, seen in called for write in _writes(each, seen))
    rest = tuple(each for each, _ in called[1:])
    return BatchFunction(query, function, rest, writes, _names_batch(function, values.syntax))


def _calls_inside(function: Function, values: Values) -> Iterator[tuple[Function, Values]]:
    functions = values.syntax.functions
    for each in ast.walk(function):
        match each:
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name)
            ):
                found = functions.get(name, [])
                if len(found) == 1 and found[0] is not function:
                    yield found[0], bind(found[0], each, values)
            case _:
                pass


def _writes(function: Function, values: Values) -> Iterator[Write]:
    calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
    for call in sorted(calls, key=lambda each: (each.end_lineno or 0, each.end_col_offset or 0)):
        name = (
            call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        )
        if name in _EXECUTES:
            yield from _insert(call, name, values)
        elif name in _SAVES or name == "append":
            yield from _save(call, values)


def _insert(call: ast.Call, name: str, values: Values) -> Iterator[Write]:
    place = 1 if name in {"execute_values", "execute_batch"} else 0
    sql = values.read(call.args[place]).start if place < len(call.args) else ""
    if _INSERT.match(sql) and not re.search(r"conflict|duplicate|merge", sql, re.IGNORECASE):
        yield Write(call, (call.lineno, call.col_offset + 1), "append", "sql", {}, (), None)


def _save(call: ast.Call, values: Values) -> Iterator[Write]:
    chain = read_chain(call, values)
    names = [step.name for step in chain.steps]
    if "writeTo" in names and names[-1] == "append":
        number = names.index("writeTo")
    elif "write" in names and names[-1] != "append":
        number = names.index("write")
    else:
        return
    steps = chain.steps[number:]
    options, is_open = read_options(steps)
    end = steps[-1]
    kind = _last_text(steps, "format", 0) or end.text(9, "format")
    form = kind.known if kind is not None else _implied(end.name)
    mode = _last_text(steps, "mode", 0) or end.text(9, "mode")
    mode = mode or (end.text(2, "mode") if end.name == "jdbc" else None)
    said = "append" if names[number] == "writeTo" else ("error" if mode is None else mode.known)
    if names[-1] == "insertInto" and mode is None:
        said = "append"
    if is_open:
        options = {**options, "": Option(values.read(None), end.at)}
    yield Write(
        call=call,
        at=end.at,
        mode=said.lower() if said else None,
        format=form.lower() if form else None,
        options=options,
        steps=chain.steps,
        root=chain.root,
    )


def _implied(name: str) -> str:
    return "table" if name in {"save", "saveAsTable", "insertInto", "append"} else name


def _last_text(steps: tuple[Step, ...], name: str, number: int) -> Text | None:
    found = [step for step in steps if step.name == name]
    return found[-1].text(number, "source", "saveMode") if found else None


def _names_batch(function: Function, syntax: Syntax) -> bool:
    names = parameters_of(function)
    if len(names) < 2:
        return False
    for each in ast.walk(function):
        if isinstance(each, ast.Name) and each.id == names[1] and not _is_logged(each, syntax):
            return True
    return False


def _is_logged(node: ast.AST, syntax: Syntax) -> bool:
    for parent in syntax.chain_of_parents(node):
        if isinstance(parent, ast.Call):
            name = getattr(parent.func, "attr", getattr(parent.func, "id", ""))
            if name in _LOGS:
                return True
    return False
