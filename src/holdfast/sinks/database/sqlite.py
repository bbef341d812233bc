"""SQLite, by the driver of Python's standard library."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from holdfast.sinks.database import sqlite_tables, sqlite_types
from holdfast.sinks.database.bound_values import values_of, version_of
from holdfast.sinks.database.dialect import BATCH, NEWEST, Connection, Dialect
from holdfast.sinks.database.failures import Trouble

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.sinks.database.target import Column, Field, Found, Row, Target
    from holdfast.sinks.database.url import Address

BUSY_S = 30
ROWS_AT_ONCE = 10_000
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_HOW_BUSY = (
    "Another process writes, reads or was stopped within its transaction: end it, then start the "
    "stream again."
)


class _OpenFile(sqlite3.Connection):
    """A connection that knows which file it has: its path can come to name another one."""

    path: Path
    inode: tuple[int, int] | None


class Sqlite(Dialect):
    """SQLite."""

    product: ClassVar[str] = "SQLite"
    extra: ClassVar[str] = "state"
    module: ClassVar[str] = "sqlite3"
    mark: ClassVar[str] = "?"
    isolation: ClassVar[str] = (
        "its own, which is serializable: BEGIN IMMEDIATE makes a driver the only writer of the file"
    )
    locked_row: ClassVar[str] = "{table} {where}"
    locks_copied: ClassVar[str] = ""
    retypes: ClassVar[str] = "-- create the table again with {column} {kind}"
    copies_rows: ClassVar[str] = "CREATE TABLE {kept} AS SELECT * FROM {name} LIMIT 0"

    def connect(self, address: Address) -> Connection:
        """Open the file; one that is not there is not made."""
        path = Path(address.database)
        busy = address.seconds("busy_timeout", BUSY_S)
        connection: _OpenFile = sqlite3.connect(
            f"file:{quote(str(path))}?mode=rw",
            uri=True,
            isolation_level=None,  # BEGIN is said here
            check_same_thread=False,  # Spark calls from its own threads, one at a time
            timeout=busy,
            factory=_OpenFile,
        )
        connection.path, connection.inode = path, _inode(path)
        for setting in ("synchronous = FULL", "foreign_keys = ON", "recursive_triggers = ON"):
            connection.execute(f"PRAGMA {setting}")
        return connection

    def trouble_of(self, error: Exception) -> Trouble | None:
        """Return what an error of the driver means: nothing is committed after any of them.

        One that has succeeded gives no error; one that fails can leave its transaction open.
        """
        if not isinstance(error, sqlite3.Error):
            return None
        name = str(getattr(error, "sqlite_errorname", type(error).__name__))
        code = int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
        is_busy = code in _BUSY
        return Trouble(
            code=name,
            is_busy=is_busy,
            has_no_table="no such table" in str(error),
            how=_HOW_BUSY if is_busy else "",
        )

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""
        return (sqlite3.Error,)

    def why_not_connected(self, error: Exception) -> tuple[str, bool]:
        """Say it without the path."""
        name = str(getattr(error, "sqlite_errorname", type(error).__name__))
        return f"The file cannot be opened ({name}): it must be there, and be a database.", False

    def quote(self, name: str) -> str:
        """Quote as SQL does."""
        return '"' + name.replace('"', '""') + '"'

    def quote_table(self, table: str) -> str:
        """Return the table of the file: those of a session are others."""
        return f"main.{self.quote(table)}"

    def begin(self, connection: Connection, *, is_reading: bool = False) -> None:
        """Begin as the only writer, or as a reader."""
        self.run(connection, "BEGIN" if is_reading else "BEGIN IMMEDIATE")

    @contextmanager
    def held(self, connection: Connection, name: str, *, ends_others: bool) -> Iterator[None]:
        """Do nothing: BEGIN IMMEDIATE waits for whoever writes, and nobody can be ended."""
        del connection, name, ends_others
        yield

    def find_replaced(self, connection: Connection) -> str:
        """Compare the file that is open with the one that has its path."""
        if _inode(connection.path) == connection.inode:
            return ""
        return "its file was deleted or replaced, and the one that is open has no name any more"

    def touch(self, name: str) -> str:
        """Read nothing of it: nobody else can change the file."""
        return f"SELECT 1 FROM {name} LIMIT 0"  # noqa: S608 - quoted

    def find(self, connection: Connection, table: str) -> Found | None:
        """Read the schema of the file."""
        return sqlite_tables.find(self, connection, table)

    def find_effect(self, connection: Connection, table: str, *, deletes: bool) -> str | None:
        """Read foreign keys and triggers from the schema of the file."""
        return sqlite_tables.find_effect(self, connection, table, deletes=deletes)

    def find_field(self, name: str, kind: pa.DataType, column: Column) -> Field | None:
        """Find it by the column's affinity, which decides what a value becomes."""
        return sqlite_types.find_field(name, kind, column)

    def suggest_type(self, kind: pa.DataType) -> str | None:
        """Suggest a type of the affinity that keeps every value."""
        return sqlite_types.suggest_type(kind)

    def identify(self, connection: Connection, address: Address) -> str:
        """Name the file itself, whatever links led to it."""
        del connection
        return f"sqlite:{os.path.realpath(address.database)}"

    def send(
        self, connection: Connection, batch: pa.RecordBatch, *, target: Target, into: str
    ) -> int:
        """Insert them one after the other, which takes SQLite a microsecond each."""
        if batch.num_rows == 0:
            return 0
        columns = values_of(target.fields, batch)
        names = ", ".join(map(self.quote, target.columns))
        marks = ", ".join("?" for _ in target.columns)
        # Said here, so that no clause of the table decides it: rows that conflict are an error.
        statement = f"INSERT OR ABORT INTO {into} ({names}) VALUES ({marks})"  # noqa: S608
        return int(connection.executemany(statement, zip(*columns, strict=True)).rowcount)

    def is_same_type(self, column: Column, other: Column) -> bool:
        """Compare affinities: a copy has no other types."""
        return column.kind == other.kind

    def stage(self, target: Target) -> Sequence[str]:
        """Make them in the session's own database."""
        columns = ", ".join(map(self.quote, target.columns))
        return [
            statement
            for each in (BATCH, NEWEST)
            for statement in (
                f"DROP TABLE IF EXISTS temp.{each}",
                f"CREATE TEMP TABLE {each} AS SELECT {columns} FROM {target.name} LIMIT 0",  # noqa: S608
            )
        ]

    def update(self, target: Target, *, newest: str, same: str, newer: str) -> str:
        """Update from the newest rows."""
        changed = ", ".join(
            f"{self.quote(each)} = s.{self.quote(each)}"
            for each in target.columns
            if each not in target.keys
        )
        return (
            f"UPDATE OR ABORT {target.name} AS t SET {changed} FROM {newest} s"  # noqa: S608 - quoted
            f" WHERE {same} AND ({newer})"
        )

    def is_same_key(self, column: str) -> str:
        """Compare bytes, whatever collation the column has: the unique index does so too."""
        return f"t.{column} = s.{column} COLLATE BINARY"

    def version(self, connection: Connection, name: str) -> str:
        """Read all rows, and add up a hash of each."""
        return version_of(self.rows(connection, f"SELECT * FROM {name}"))  # noqa: S608 - quoted

    def selected(self, column: Column) -> str:
        """Read it as it is."""
        return self.quote(column.name)

    def rows(self, connection: Connection, statement: str) -> Iterator[list[Row]]:
        """Read them as they come."""
        cursor = connection.execute(statement)
        while found := cursor.fetchmany(ROWS_AT_ONCE):
            yield found


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


DIALECT = Sqlite()
