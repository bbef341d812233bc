"""What the source of a program says of one query: sink, output mode, trigger and checkpoint.

The program is parsed, never imported. A value that the code computes is shown as far as it is
written there, with `{name}` for the rest, and never guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import msgspec

from holdfast.lint.imports import FindConstants, no_modules
from holdfast.lint.program import Program, read_program
from holdfast.lint.purposes import source_texts, target_texts
from holdfast.lint.queries import WRITER, Query, format_of_reader
from holdfast.lint.query_in_code import NoQuery, QueryInCode, Written
from holdfast.lint.source import Source, Unreadable, read_source
from holdfast.lint.texts import Hole, Text

_MOST_NAMED = 5
_MOST_CHARACTERS = 200
_DEFAULT_TRIGGER = "default: a batch begins when the one before has ended"
_FLAGS = ("availableNow", "once")
_INTERVALS = ("processingTime", "continuous", "realTime")


class WhichQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which query of a program is meant."""

    name: str | None = None
    """Its name, that of the function that starts it, or the line of its start; None for the one
    with the checkpoint."""
    is_checkpoint: Callable[[str], bool | None] = lambda _: None
    """Whether a location in the code is the checkpoint; None if that cannot be told."""


def find_query(
    path: str, content: bytes, which: WhichQuery, *, find_constants: FindConstants = no_modules
) -> QueryInCode | NoQuery:
    """Return what a program says of a query, or why it does not.

    Args:
        path: Of the file, as it is shown.
        content: Its bytes.
        which: The query that is meant.
        find_constants: How constants of other modules are found.
    """
    source = read_source(content, is_ipynb=path.endswith(".ipynb"))
    if isinstance(source, Unreadable):
        return NoQuery(f"{path} cannot be parsed: {source.reason}")
    try:
        reader = QueryReader(path, source, read_program(source, find_constants))
        return reader.find(which)
    except RecursionError:
        return NoQuery(f"{path} cannot be parsed: too deeply nested")


class QueryReader(msgspec.Struct, frozen=True):
    """Reads what one program says of its queries."""

    path: str
    source: Source
    program: Program

    def find(self, which: WhichQuery) -> QueryInCode | NoQuery:
        """Return what the program says of the query that is meant, or why it does not."""
        query = self.choose(which)
        return query if isinstance(query, NoQuery) else self.read(query, which)

    def choose(self, which: WhichQuery) -> Query | NoQuery:
        """Return the query that is meant, or why the program does not tell which it is."""
        queries = self.program.queries
        if which.name is not None:
            queries = tuple(
                each for each in queries if which.name in (*self._names(each), self._line(each.at))
            )
            if not queries:
                return NoQuery(f"{self.path} starts no query {which.name!r}{self._list_all()}")
        if not queries:
            return NoQuery(f"{self.path} starts no query: there is no writeStream with a start")
        if len(queries) > 1:
            same = [each for each in queries if self._is_same(each, which)]
            if len(same) != 1:
                return NoQuery(f"{self.path} does not tell which query it is{self._list_all()}")
            queries = (same[0],)
        found = self.read(queries[0], which)
        if found.is_other and which.name is None:
            named = f"its checkpoint is {found.checkpoint.value} ({found.checkpoint.place})"
            how = f"To read it anyway: FILE:NAME, or FILE:{self._line(queries[0].at)} by its line"
            return NoQuery(f"{self.path} starts another query: {named}. {how}")
        return queries[0]

    def _is_same(self, query: Query, which: WhichQuery) -> bool:
        known = query.checkpoint.value.known if query.checkpoint else None
        return known is not None and which.is_checkpoint(known) is True

    def _list_all(self) -> str:
        """Return the queries to choose from."""
        queries = self.program.queries[:_MOST_NAMED]
        if not queries:
            return ": there is no writeStream with a start"
        named = (f"{_first(self._names(each))} (line {self._line(each.at)})" for each in queries)
        more = len(self.program.queries) - len(queries)
        rest = f" and {more} more" if more else ""
        return f". It starts {', '.join(named)}{rest}: give FILE:NAME or FILE:LINE"

    def _names(self, query: Query) -> tuple[str, ...]:
        """Return what a query can be called: its own name, then functions around its start."""
        step, start = query.step("queryName"), query.steps[-1]
        given = step.text(0, "queryName") if step else start.text(4, "queryName")
        known = [given.known] if given is not None and given.known else []
        for node in (query.site, query.started):
            known += [] if node is None else self._functions_around(node)
        return tuple(known)

    def _functions_around(self, node: ast.AST) -> list[str]:
        found: list[str] = []
        scope = self.program.syntax.scope_of(node)
        while not isinstance(scope, ast.Module):
            found += [scope.name] if isinstance(scope, ast.FunctionDef | ast.ClassDef) else []
            scope = self.program.syntax.scope_of(scope)
        return found

    def _line(self, at: tuple[int, int]) -> str:
        cell, line = self.source.place(at[0])
        return f"{line}" if cell is None else f"{line} of cell {cell}"

    def place(self, at: tuple[int, int]) -> str:
        """Return a line and column of the text that was parsed as `jobs/orders.py:41`."""
        cell, line = self.source.place(at[0])
        return f"{self.path}:{line}" if cell is None else f"{self.path}:cell {cell}:{line}"

    def read(self, query: Query, which: WhichQuery) -> QueryInCode:
        """Return what the program says of a query."""
        option = query.checkpoint
        known = option.value.known if option else None
        value = None if option is None else show_text(option.value)
        place = self.place(option.at if option else query.at)
        return QueryInCode(
            place=self.place(query.at),
            names=self._names(query),
            source=self._source(query),
            sink=self._sink(query),
            output_mode=self._output_mode(query),
            trigger=self._trigger(query),
            checkpoint=Written(value, place),
            is_other=known is not None and which.is_checkpoint(known) is False,
        )

    def _source(self, query: Query) -> Written:
        number = next((n for n, s in enumerate(query.source) if s.name == "readStream"), None)
        if number is None:
            return Written(None, self.place(query.steps[0].at))
        steps = query.source[number:]
        read = ", ".join(dict.fromkeys(filter(None, map(show_text, source_texts(query)))))
        kind = format_of_reader(steps)
        if kind is None and any(step.name == "table" for step in steps):
            kind = "table"
        return Written(" ".join(filter(None, (kind, read))) or None, self.place(steps[0].at))

    def _sink(self, query: Query) -> Written:
        function = query.step("foreachBatch") or query.step("foreach")
        if function is not None:
            given = function.argument(0, "func", "f")
            called = "" if given is None else f" {_shorten(ast.unparse(given))}"
            texts = target_texts(query, self.program.batch_function_of(query))
            into = ", ".join(dict.fromkeys(filter(None, map(show_text, texts))))
            shown = f"{function.name}{called}{f' into {into}' if into else ''}"
            return Written(shown, self.place(function.at))
        step = query.step("format")
        place = self.place(step.at if step else query.at)
        target = show_text(query.target) or self._named_by_option(query)
        if query.format is None and target is None:
            return Written(None, place)
        kind = query.format or "a format that the code computes,"
        if query.format is None and step is None:
            kind = "the format of spark.sql.sources.default,"
        return Written(" ".join(filter(None, (kind, target))), place)

    @staticmethod
    def _named_by_option(query: Query) -> str | None:
        """Return the topic, table or collection that a sink without a path is given."""
        named = (query.options.get(name) for name in ("topic", "table", "collection"))
        return next((show_text(each.value) for each in named if each is not None), None)

    def _output_mode(self, query: Query) -> Written:
        step = query.step("outputMode")
        place = self.place(step.at if step else query.at)
        is_given = step is not None or query.steps[-1].text(2, "outputMode") is not None
        if not is_given and _has_unknown_steps(query):
            return Written(None, place)
        return Written(query.output_mode, place)

    def _trigger(self, query: Query) -> Written:
        step = query.step("trigger")
        if step is None or step.call is None:
            shown = None if _has_unknown_steps(query) else _DEFAULT_TRIGGER
            return Written(shown, self.place(query.at))
        place = self.place(step.at)
        for each in step.call.keywords:
            if each.arg in _FLAGS and step.values.read(each.value).known == "True":
                return Written(each.arg, place)
            if each.arg in _INTERVALS:
                length = show_text(step.values.read(each.value))
                return Written(f"{each.arg} {length}" if length else None, place)
        return Written(None, place)


def show_text(text: Text | None) -> str | None:
    """Return a value as it is written, with `{name}` for what is computed; None if all of it is."""
    if text is None or not any(isinstance(part, str) and part for part in text.parts):
        return None
    parts = (part if isinstance(part, str) else _show_hole(part) for part in text.parts)
    return _shorten("".join(parts))


def _show_hole(hole: Hole) -> str:
    key = (hole.key or hole.volatile or "…").partition("@")[0]
    return f"{{{key.removeprefix('global ').removeprefix('parameter ')}}}"


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _first(names: tuple[str, ...]) -> str:
    return names[0] if names else "a query without a name"


def _has_unknown_steps(query: Query) -> bool:
    """Return whether something is called on the writer that may set anything."""
    return any(step.name not in WRITER for step in query.steps[1:])
