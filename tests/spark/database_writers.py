"""Writers into a real MariaDB and into SQLite, with rows from Arrow in the place of Spark's."""

from __future__ import annotations

import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from holdfast.ledger import Attempt, LedgerRow
from holdfast.sinks.database.sink import Database
from holdfast.sinks.database.writer import DatabaseWriter, resolve_writer
from lab.mariadb import MariaDB
from tests.ledger_rows import ROW, attempt
from tests.spark.kafka_writers import without_spark
from tests.stand_ins import stand_in

__all__ = ["STREAM", "Into", "batch_of", "batches", "numbered", "once", "without_spark"]
STREAM = "readings"
ROWS = 20
TABLES = {
    "mariadb": "id bigint, name text CHARACTER SET utf8mb4",
    "sqlite": "id INTEGER, name TEXT",
}
_NAMES = {"bigint": "long", "int": "integer"}


def schema_of(**columns: str) -> StructType:
    """Return a schema without a session, which DDL needs."""
    fields = [
        {"name": name, "type": _NAMES.get(kind, kind), "nullable": True, "metadata": {}}
        for name, kind in columns.items()
    ]
    return StructType.fromJson({"type": "struct", "fields": fields})


PLAIN = schema_of(id="bigint", name="string")


def batch_of(schema: StructType, rows: list[tuple[Any, ...]]) -> Any:
    """Return rows as a batch has them, in two record batches where there are several."""
    names = schema.names
    given = [dict(zip(names, row, strict=True)) for row in rows]
    table = pa.Table.from_pylist(given, schema=to_arrow_schema(schema, timezone="UTC"))
    parts = table.to_batches(max(1, len(rows) // 2))
    return stand_in(SimpleNamespace(batches=parts, sparkSession=None))


def numbered(number: int) -> Any:
    """Return the batch of a number."""
    ids = range(number * ROWS, (number + 1) * ROWS)
    return batch_of(PLAIN, [(each, f"row {each}") for each in ids])


def batches(number: int) -> Counter[tuple[int, str]]:
    """Return the rows of so many batches."""
    return Counter((each, f"row {each}") for each in range(number * ROWS))


def once(act: Callable[[], object]) -> Callable[[int], None]:
    """Return what acts when a batch is about to be committed, the first time."""
    left = [act]

    def before_commit(_: int) -> None:
        if left:
            left.pop()()

    return before_commit


@dataclass
class Into:
    """A database of its own, and starts of one stream that write into a table of it."""

    url: str
    mariadb: MariaDB | None = None
    table: str = "readings"
    schema: StructType = PLAIN

    @classmethod
    def make(cls, kind: str, *, mariadb: MariaDB | None, directory: Path) -> Into:
        """Return a database without a table."""
        if mariadb is not None:
            url = mariadb.create_database(f"test_{uuid.uuid4().hex[:12]}")
            return cls(url + "?local_infile=1" * (kind == "load"), mariadb)
        path = directory / "serving.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        return cls(f"sqlite:///{path}")

    @property
    def database(self) -> str:
        """The name of the database, or the path of the file."""
        return self.url.partition("?")[0].rpartition("/")[2] if self.mariadb else self.url[10:]

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement by a connection that knows nothing of Holdfast."""
        if self.mariadb is not None:
            return self.mariadb.ask(statement, database=self.database)
        with closing(sqlite3.connect(self.database)) as connection, connection:
            return connection.execute(statement).fetchall()

    def create(self, columns: str | None = None) -> Into:
        """Create the table."""
        self.ask(f"CREATE TABLE {self.table} ({columns or TABLES[self.dialect]})")
        return self

    @property
    def dialect(self) -> str:
        """Its name."""
        return "mariadb" if self.mariadb is not None else "sqlite"

    def sink(self, **more: Any) -> Database:
        return Database(lambda: self.url, table=self.table, **more)

    @property
    def row(self) -> LedgerRow:
        return replace(ROW, sink=self.table)

    def attempt(self, number: int, **changes: Any) -> Attempt:
        return attempt(number, sink=self.table, **changes)

    def start(self, **more: Any) -> DatabaseWriter:
        """Return the writer of a start."""
        df = stand_in(SimpleNamespace(schema=self.schema, columns=self.schema.names))
        writer = resolve_writer(self.sink(**more), df, STREAM)
        writer.create()
        return writer

    def first(self, **more: Any) -> DatabaseWriter:
        """Return the writer of the first start, with a ledger row."""
        writer = self.start(**more)
        assert writer.ledger.replace(None, self.row)
        return writer

    def fence(self, epoch: int = 2, **more: Any) -> DatabaseWriter:
        """Return the writer of a later start, which has fenced the sink."""
        writer = self.start(**more)
        found = writer.ledger.read(STREAM)
        assert isinstance(found, LedgerRow)
        assert writer.ledger.fence(found, epoch=epoch, nonce=f"n{epoch}") is not None
        return writer

    def rows(self) -> Counter[tuple[Any, ...]]:
        """Return what is there."""
        return Counter(self.ask(f"SELECT * FROM {self.table}"))
