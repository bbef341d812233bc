"""A driver of DB-API 2 that remembers what it was given, and answers what a test has told it."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa

from holdfast.sinks.database.dialect import Dialect
from holdfast.sinks.database.table import check_table
from holdfast.sinks.database.target import Column, Found, Target

Answer = list[tuple[Any, ...]] | int | Exception
"""Rows, or how many rows were changed, or what is raised."""


class Connection:
    """Answers a statement by the first of the texts that it contains."""

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = dict(answers)
        self.given: list[tuple[str, Any]] = []
        self.left: list[str] = []
        self.is_closed = False

    def cursor(self) -> Cursor:
        return Cursor(self)

    def rollback(self) -> None:
        self.given.append(("rollback()", ()))

    def close(self) -> None:
        self.is_closed = True

    def ask(self, statement: str, values: Any) -> Answer:
        self.given.append((statement, values))
        found: Any = next((self.answers[each] for each in self.answers if each in statement), 0)
        if callable(found):
            found = found(values)
        if isinstance(found, Exception):
            raise found
        answer: Answer = found
        return answer

    @property
    def statements(self) -> list[str]:
        return [statement for statement, _ in self.given]


class Cursor:
    """One statement, with one more answer behind its own that must be read too."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.description: list[str] | None = None
        self.rowcount = -1
        self.rows: list[tuple[Any, ...]] = []
        self.arraysize = 100

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def execute(self, statement: str, values: Any = ()) -> None:
        self._take(self.connection.ask(statement, values))
        self.connection.left.append(statement)

    def executemany(self, statement: str, rows: Sequence[Any]) -> None:
        self.connection.ask(statement, rows)
        self.rowcount = len(rows)

    def setinputsizes(self, *kinds: object) -> None:
        self.connection.given.append(("setinputsizes", kinds))

    def callproc(self, name: str, given: list[object]) -> None:
        self.connection.ask(name, given)

    def callfunc(self, name: str, kind: type, given: list[object]) -> Any:
        return kind(self.connection.ask(name, given))

    def var(self, kind: object, *, arraysize: int) -> object:
        return kind, arraysize

    def _take(self, found: Answer) -> None:
        if isinstance(found, list):
            self.description, self.rows = ["column"], list(found)
        elif isinstance(found, int):
            self.description, self.rowcount = None, found

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(len(self.rows))

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        found, self.rows = self.rows[:size], self.rows[size:]
        return found

    def nextset(self) -> bool:
        return bool(self.connection.left and self.connection.left.pop())

    def close(self) -> None:
        self.rows = []


def module(name: str, **names: object) -> ModuleType:
    """Return a module with these names in it."""
    found = ModuleType(name)
    vars(found).update(names)
    return found


def target_of(
    dialect: Dialect,
    found: Found,
    schema: dict[str, pa.DataType],
    *,
    keys: Sequence[str] = (),
    sequence_by: str | None = None,
) -> Target:
    """Return a table that a start has held against a stream."""
    sink: Any = SimpleNamespace(table="app.readings", keys=tuple(keys), sequence_by=sequence_by)
    given = pa.schema(list(schema.items()))
    return check_table(dialect, sink, given, found=found, is_merged=True)


def found_with(*columns: Column, uniques: tuple[frozenset[str], ...] = ()) -> Found:
    """Return what a catalogue says of a table with these columns."""
    return Found(
        place="app.readings",
        problem=None,
        pin="1",
        columns={each.name: each for each in columns},
        uniques=uniques,
    )
