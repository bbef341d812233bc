"""A sink of one's own in one file, through the public base class only: a table of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pyspark.sql import DataFrame

import holdfast as hf

LEDGER = "CREATE TABLE IF NOT EXISTS holdfast_ledger (key TEXT PRIMARY KEY, row TEXT NOT NULL)"


@dataclass(frozen=True)
class Sqlite(hf.Sink):
    """Rows appended to a table of a SQLite file."""

    kind: ClassVar[str] = "sqlite"
    drop_copy: ClassVar[str] = 'DROP TABLE IF EXISTS "{copy}"'

    path: str
    table: str = "readings"

    @property
    def label(self) -> str:
        return self.table

    @property
    def place(self) -> str:
        return f"{self.path}#{self.table}"

    @classmethod
    def from_contract(cls, contract: Any) -> Sqlite:
        path, _, table = contract.place.rpartition("#")
        return cls(path=path, table=table)

    def exists(self) -> bool:
        return Path(self.path).exists()  # connecting would create an empty file

    def connect(self) -> sqlite3.Connection:
        # Spark calls from its own threads, one at a time.
        return sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)

    def check(self, connection: sqlite3.Connection, df: DataFrame) -> None:
        there = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({self.table})")]
        if there and there != df.columns:
            raise hf.ConfigError(f"{self.table} has the columns {there}.")

    def create(self, connection: sqlite3.Connection, df: DataFrame) -> None:
        columns = ", ".join(df.columns)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {self.table} ({columns})")
        connection.execute(LEDGER)

    @contextmanager
    def transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")  # the only writer from here on
        try:
            yield
            connection.execute("COMMIT")  # fails, for example, while another connection reads
        except BaseException:
            if connection.in_transaction:  # after some errors SQLite has rolled back itself
                connection.execute("ROLLBACK")
            raise

    def read_ledger(self, connection: sqlite3.Connection, key: str) -> str | None:
        if not connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = ?", ("holdfast_ledger",)
        ).fetchone():
            return None
        found = connection.execute(
            "SELECT row FROM holdfast_ledger WHERE key = ?", (key,)
        ).fetchone()
        return found[0] if found else None

    def write_ledger(self, connection: sqlite3.Connection, key: str, text: str) -> None:
        connection.execute("INSERT OR REPLACE INTO holdfast_ledger VALUES (?, ?)", (key, text))

    def write_batch(self, connection: sqlite3.Connection, batch: DataFrame) -> None:
        marks = ", ".join("?" for _ in batch.columns)
        rows = (tuple(row) for row in batch.toLocalIterator())
        connection.executemany(f"INSERT INTO {self.table} VALUES ({marks})", rows)

    # From here on optional: what the sink can do beside taking batches.

    def take_rows(self, connection: sqlite3.Connection, copy: str, *, after: str | None) -> None:
        newer = f"rowid > {int((after or '0').split()[0])}"
        connection.execute(f'CREATE TABLE "{copy}" AS SELECT * FROM {self.table} WHERE {newer}')
        connection.execute(f"DELETE FROM {self.table} WHERE {newer}")

    def put_back(self, connection: sqlite3.Connection, copy: str) -> None:
        connection.execute(f'INSERT INTO {self.table} SELECT * FROM "{copy}"')

    def version(self, connection: sqlite3.Connection) -> str:
        # Rows are only appended, each with the next rowid; a deleted one changes the count.
        query = f"SELECT coalesce(max(rowid), 0), count(*) FROM {self.table}"
        return "{} {}".format(*connection.execute(query).fetchone())

    def read_back(self, connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
        return connection.execute(f"SELECT * FROM {self.table}").fetchall()

    @classmethod
    def for_drill(cls, directory: Path) -> Sqlite:
        return cls(path=str(directory / "drill.sqlite"))


def rows_in(sink: Sqlite) -> list[tuple[Any, ...]]:
    """Return every row that is there."""
    with closing(sink.connect()) as connection:
        return sink.read_back(connection)
