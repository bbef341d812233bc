"""The streaming queries of a program: every chain from `writeStream` to `start` or `toTable`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from holdfast.lint.chains import Chain, ChainLink, bind, read_chain
from holdfast.lint.syntax import Syntax
from holdfast.lint.texts import Text, text_of
from holdfast.lint.values import Values

STARTS = frozenset({"start", "toTable", "table"})
FILE_FORMATS = frozenset({"parquet", "json", "csv", "orc", "text", "avro"})
SHOWN_ONLY = frozenset({"console", "memory", "noop"})
"""Formats whose output is for looking at."""
_MOST_CALLS = 30
WRITER = frozenset(
    {
        *("format", "option", "options", "outputMode", "partitionBy", "queryName", "trigger"),
        *("foreach", "foreachBatch", "clusterBy", "name", *STARTS),
    }
)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a reader or a writer."""

    value: Text
    at: tuple[int, int]
    source: tuple[ast.expr, Values] | None = field(default=None, compare=False, repr=False)
    """The expression that gives it, and how values are looked up there."""


class Query(msgspec.Struct, frozen=True):
    """One start of a streaming query."""

    started: ast.Call
    steps: tuple[ChainLink, ...]
    """From `writeStream` on."""
    source: tuple[ChainLink, ...]
    """What is before `writeStream`."""
    root: ast.expr
    options: dict[str, Option]
    """By name in lower case."""
    is_open: bool
    """Whether options may be set that cannot be followed."""
    site: ast.Call | None = None
    """The call of the helper function that starts it."""

    def step(self, name: str) -> ChainLink | None:
        """Return the last step of a name."""
        return next((each for each in reversed(self.steps) if each.name == name), None)

    @property
    def at(self) -> tuple[int, int]:
        """Where it is started."""
        return self.steps[-1].at

    @property
    def checkpoint(self) -> Option | None:
        """Its checkpoint location."""
        return self.options.get("checkpointlocation")

    @property
    def format(self) -> str | None:
        """The format of its sink in lower case; None if it cannot be told."""
        if self.step("foreachBatch") or self.step("foreach"):
            return "foreachBatch" if self.step("foreachBatch") else "foreach"
        step = self.step("format")
        given = step.text(0, "source") if step else self.steps[-1].text(1, "format")
        if given is None:
            return "table" if self.steps[-1].name != "start" else None
        return given.known.lower() if given.known else None

    @property
    def target(self) -> Text | None:
        """The table or path that it writes to."""
        given = self.steps[-1].text(0, "path", "tableName")
        path = self.options.get("path")
        return given if given is not None else (path.value if path else None)

    @property
    def output_mode(self) -> str | None:
        """Its output mode in lower case; None if it cannot be told."""
        step = self.step("outputMode")
        given = step.text(0, "outputMode") if step else self.steps[-1].text(2, "outputMode")
        given = text_of("append") if given is None else given
        return given.known.lower() if given.known else None


def find_queries(syntax: Syntax) -> tuple[Query, ...]:
    """Return every query that the program starts, once for each call of a helper function."""
    return tuple(query for call in syntax.calls if _is_start(call) for query in _read(syntax, call))


def _is_start(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in STARTS


def _read(syntax: Syntax, call: ast.Call) -> Iterator[Query]:
    function = syntax.scope_of(call)
    sites: list[ast.Call] = []
    if isinstance(function, ast.FunctionDef) and len(syntax.functions[function.name]) == 1:
        sites = [each for each in syntax.calls if _called(each) == function.name][:_MOST_CALLS]
    outside = Values(syntax)
    variants: list[tuple[ast.Call | None, Values]] = [(None, outside)]
    if sites and isinstance(function, ast.FunctionDef):
        variants = [(site, bind(function, site, outside)) for site in sites]
    for called, values in variants:
        chain = read_chain(call, values)
        if any(step.name == "writeStream" for step in chain.steps):
            query = _query(call, chain, called)
            yield query if called is None else _at_site(query, called, read_chain(call, outside))


def _at_site(query: Query, site: ast.Call, written: Chain) -> Query:
    """Return a query whose options are at the call of the helper, where they come from there."""
    plain, _ = read_options(written.steps)
    at = (site.lineno, site.col_offset + 1)
    options = {
        name: option
        if name in plain and plain[name].value == option.value
        else Option(option.value, at)
        for name, option in query.options.items()
    }
    return replace(query, options=options)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case _:
            return ""


def _query(call: ast.Call, chain: Chain, site: ast.Call | None) -> Query:
    number = max(n for n, step in enumerate(chain.steps) if step.name == "writeStream")
    steps = chain.steps[number:]
    options, is_open = read_options(steps)
    is_open = is_open or any(step.name not in WRITER for step in steps[1:])
    return Query(call, steps, chain.steps[:number], chain.root, options, is_open, site)


def read_options(steps: tuple[ChainLink, ...]) -> tuple[dict[str, Option], bool]:
    """Return the options that a chain sets, and whether it may set others."""
    options: dict[str, Option] = {}
    is_open = False
    for step in steps:
        if step.call is None:
            continue
        if step.name == "option":
            key = step.text(0, "key")
            value = step.argument(1, "value")
            if key is None or key.known is None or value is None:
                is_open = True
            else:
                options[key.known.lower()] = _option(step, value, step.values)
        elif step.name in {"options", "start", "toTable", "load"}:
            is_open = not _read_keywords(step, options) or is_open
    return options, is_open


def _option(step: ChainLink, value: ast.expr, values: Values) -> Option:
    return Option(values.read(value), step.at, (value, values))


def _read_keywords(step: ChainLink, options: dict[str, Option]) -> bool:
    """Add the keywords of a call; return whether all of them could be followed."""
    is_whole = step.name != "options" or not (step.call and step.call.args)
    for each in step.call.keywords if step.call else []:
        if each.arg is not None:
            options[each.arg.lower()] = _option(step, each.value, step.values)
            continue
        node, values = step.values.resolve(each.value)
        keys = node.keys if isinstance(node, ast.Dict) else [None]
        for key, value in zip(keys, getattr(node, "values", [None]), strict=False):
            if isinstance(key, ast.Constant) and value is not None:
                options[str(key.value).lower()] = _option(step, value, values)
            else:
                is_whole = False
    return is_whole


def format_of_reader(steps: tuple[ChainLink, ...]) -> str | None:
    """Return the format of a source in lower case; None if it is a table or cannot be told."""
    for step in steps:  # a writer's format may follow
        if step.name in FILE_FORMATS and step.call is not None:
            return step.name
        given = step.text(0, "source") if step.name == "format" else None
        if given is not None and given.known:
            return given.known.lower()
    return None
