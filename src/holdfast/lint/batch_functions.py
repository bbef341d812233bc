"""Functions of `foreachBatch`: what they write, and how."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from holdfast.lint.callables import Callee, find_callee
from holdfast.lint.chains import Step, bind, read_chain
from holdfast.lint.queries import Option, Query, read_options
from holdfast.lint.syntax import Function, Syntax
from holdfast.lint.values import Text, Values

_SAVES = frozenset({"save", "saveAsTable", "insertInto", "jdbc", "parquet", "json", "csv", "orc"})
_EXECUTES = frozenset({"sql", "execute", "executemany", "execute_values", "execute_batch"})
_LOGS = frozenset({"print", "debug", "info", "warning", "warn", "error", "exception", "log"})
_SHOWS = _LOGS | {"show", "printSchema", "count", "format", "head", "len", "str", "limit", "select"}
_INSERT = re.compile(r"\s*insert\s+into\b", re.IGNORECASE)
"""Not INSERT OVERWRITE: what a batch writes again replaces what it wrote before."""
_RECOGNISES = re.compile(r"conflict|duplicate|merge|replace\s+(where|using|on)\b", re.IGNORECASE)
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
    batch: str
    """The name of the DataFrame."""
    names_batch: bool
    """Whether the batch id is used for anything but logging."""

    @property
    def text(self) -> str:
        """Its code, to look for words in."""
        return "\n".join(ast.unparse(each) for each in (self.function, *self.called))

    @property
    def only_shows(self) -> bool:
        """Whether all it does is to print rows."""
        walked = (each for owner in (self.function, *self.called) for each in ast.walk(owner))
        calls = (each for each in walked if isinstance(each, ast.Call))
        names = {getattr(each.func, "attr", getattr(each.func, "id", "")) for each in calls}
        return names - {getattr(each, "name", "") for each in self.called} <= _SHOWS


def find_batch_functions(queries: tuple[Query, ...]) -> tuple[BatchFunction, ...]:
    """Return the function of every `foreachBatch` that is in the file."""
    found: list[BatchFunction] = []
    for query in queries:
        step = query.step("foreachBatch")
        given = step.argument(0, "func") if step else None
        if step is None or given is None:
            continue
        found_function = find_callee(given, step.values)
        if found_function is not None:
            found.append(_read(query, found_function))
    return tuple(found)


def _read(query: Query, own: Callee) -> BatchFunction:
    called = [own]
    for _ in range(_DEEPEST):
        known = {each.function for each in called}
        new = (each for caller in called for each in _calls_inside(caller))
        fresh = {each.function: each for each in new if each.function not in known}
        called += fresh.values()
        if not fresh:
            break
    batch, batch_id = (*own.parameters, "", "")[:2]
    return BatchFunction(
        query=query,
        function=own.function,
        called=tuple(each.function for each in called[1:]),
        writes=tuple(write for each in called for write in _writes(each.function, each.values)),
        batch=batch,
        names_batch=bool(batch_id) and _uses(own, batch_id, set()),
    )


def _calls_inside(caller: Callee) -> Iterator[Callee]:
    for each in ast.walk(caller.function):
        if isinstance(each, ast.Call):
            found = find_callee(each.func, caller.values)
            if found is not None and found.function is not caller.function:
                yield replace(found, values=bind(found.function, each, found.values))


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
    text = values.read(call.args[place]) if place < len(call.args) else None
    if text is None or not _INSERT.match(text.start):
        return
    known = "".join(each for each in text.parts if isinstance(each, str))
    if not _RECOGNISES.search(known):
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


def _uses(owner: Callee, name: str, seen: set[tuple[Function, str]]) -> bool:
    """Return whether a parameter is used: not only logged, nor passed to what does not use it."""
    if (owner.function, name) in seen:
        return False
    seen.add((owner.function, name))
    for each in ast.walk(owner.function):
        if isinstance(each, ast.Name) and each.id == name:
            if _is_logged(each, owner.values.syntax):
                continue
            given = _given_to(each, owner)
            if given is None or _uses(*given, seen):
                return True
    return False


def _given_to(node: ast.Name, owner: Callee) -> tuple[Callee, str] | None:
    """Return the function of the file that a name is passed to, and as which parameter."""
    parent = owner.values.syntax.parents.get(node)
    call = owner.values.syntax.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or node is call.func:
        return None
    callee = find_callee(call.func, owner.values)
    name = None if callee is None else callee.parameter_of(call, node)
    return None if callee is None or name is None else (callee, name)


def _is_logged(node: ast.AST, syntax: Syntax) -> bool:
    for parent in syntax.chain_of_parents(node):
        if isinstance(parent, ast.Call):
            name = getattr(parent.func, "attr", getattr(parent.func, "id", ""))
            if name in _LOGS:
                return True
    return False
