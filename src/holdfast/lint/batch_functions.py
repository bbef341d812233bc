"""Functions of `foreachBatch`: what they write, and how."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from holdfast.lint.batch_ids import LOGS, BatchIdUse, use_of
from holdfast.lint.callables import Callee, all_called, find_callee
from holdfast.lint.chains import ChainLink, read_chain
from holdfast.lint.queries import Option, Query, read_options
from holdfast.lint.sql import EXECUTES, statement_of, table_of
from holdfast.lint.syntax import Function
from holdfast.lint.texts import Text
from holdfast.lint.values import Values

_SAVES = frozenset({"save", "saveAsTable", "insertInto", "jdbc", "parquet", "json", "csv", "orc"})
SHOWS = LOGS | {"show", "printSchema", "count", "format", "head", "len", "str", "limit", "select"}


class Write(msgspec.Struct, frozen=True):
    """One write in a batch function: of a DataFrame, or an INSERT."""

    call: ast.Call
    at: tuple[int, int]
    mode: str | None
    """`upsert` of a statement that replaces rows of the same key; None if it cannot be told."""
    format: str | None
    options: dict[str, Option]
    steps: tuple[ChainLink, ...]
    root: ast.expr | None
    table: str | None = None
    """The name of its table or the end of its path, if it is known."""

    @property
    def is_log(self) -> bool:
        """Whether its DataFrame was made in the function: a log of the batch, not the batch."""
        return any(step.name == "createDataFrame" for step in self.steps)


class BatchFunction(msgspec.Struct, frozen=True):
    """A function of `foreachBatch`, with the functions of the file that it calls."""

    query: Query
    function: Function
    called: tuple[Function, ...]
    writes: tuple[Write, ...]
    batch: str
    """The name of the DataFrame."""
    batch_id_use: BatchIdUse
    callees: tuple[Callee, ...]
    """It and the functions that it calls, with how values are looked up in them."""

    @property
    def names_batch(self) -> bool:
        """Whether the batch id is used for anything but logging."""
        return self.batch_id_use is not BatchIdUse.NOT_USED

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
        return names - {getattr(each, "name", "") for each in self.called} <= SHOWS


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
    called = all_called([own])
    batch, batch_id = (*own.parameters, "", "")[:2]
    return BatchFunction(
        query=query,
        function=own.function,
        called=tuple(each.function for each in called[1:]),
        writes=tuple(write for each in called for write in _writes(each.function, each.values)),
        batch=batch,
        batch_id_use=use_of(own, batch_id),
        callees=tuple(called),
    )


def _writes(function: Function, values: Values) -> Iterator[Write]:
    calls = [each for each in values.syntax.nodes_in(function) if isinstance(each, ast.Call)]
    for call in sorted(calls, key=lambda each: (each.end_lineno or 0, each.end_col_offset or 0)):
        name = (
            call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        )
        if name in EXECUTES:
            if (written := statement_write(call, values)) is not None:
                yield written
        elif name in _SAVES or name == "append":
            yield from _save(call, values)
        elif name == "to_sql":
            yield from _pandas_write(call, values)


def statement_write(call: ast.Call, values: Values) -> Write | None:
    """Return an INSERT or a MERGE: an append, or an upsert if it recognises rows that are there.

    An INSERT of Cassandra is an upsert: it replaces the row of the same key.
    """
    statement = statement_of(call, values)
    if statement is None or not statement.writes:
        return None
    is_keyed = any(_imports_cassandra(each) for each in values.syntax.imports)
    mode = "upsert" if statement.recognises or is_keyed else "append"
    at = (call.lineno, call.col_offset + 1)
    return Write(call, at, mode, "sql", {}, (), None, statement.table)


def _pandas_write(call: ast.Call, values: Values) -> Iterator[Write]:
    """Yield a write of a pandas DataFrame."""
    given = {each.arg: values.read(each.value) for each in call.keywords if each.arg}
    mode, name = given.get("if_exists"), given.get("name")
    table = table_of(values.read(call.args[0]) if call.args else name)
    if mode is not None and mode.known in {"append", "replace"}:
        said = "append" if mode.known == "append" else "overwrite"
        at = (call.lineno, call.col_offset + 1)
        yield Write(call, at, said, "sql", {}, (), None, table)


def _imports_cassandra(node: ast.Import | ast.ImportFrom) -> bool:
    names = [getattr(node, "module", None) or "", *(each.name for each in node.names)]
    return any(name.startswith("cassandra") for name in names)


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
        table=_table(steps, options),
    )


def _table(steps: tuple[ChainLink, ...], options: dict[str, Option]) -> str | None:
    """Return the name of the table that a writer writes to, or the last part of its path."""
    places = {"jdbc": 1} | dict.fromkeys(("writeTo", *(_SAVES - {"jdbc"})), 0)
    named = [options[name].value for name in ("dbtable", "path") if name in options]
    for step in (steps[0], steps[-1]):
        if step.name in places:
            named.append(step.text(places[step.name], "path", "table", "name") or Text(()))
    return next((table for each in named if (table := table_of(each))), None)


def _implied(name: str) -> str:
    return "table" if name in {"save", "saveAsTable", "insertInto", "append"} else name


def _last_text(steps: tuple[ChainLink, ...], name: str, number: int) -> Text | None:
    found = [step for step in steps if step.name == name]
    return found[-1].text(number, "source", "saveMode") if found else None
