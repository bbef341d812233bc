"""PostgreSQL, MariaDB and SQLite: history is rows of the ledger's tables and of the target's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType

import holdfast as hf
from benchmarks.sink_growth.growing import GrowingSink
from benchmarks.sink_growth.without_spark import VALUES, WithoutSpark, handed_over
from holdfast.sinks.sink import SinkSpec
from lab import Postgres

_SCHEMA = StructType([StructField("id", LongType()), StructField("name", StringType())])
_IDS, _NAMES = zip(*VALUES, strict=True)
_ROWS = pa.table({"id": pa.array(_IDS, pa.int64()), "name": pa.array(_NAMES, pa.string())})
_TABLES = (
    "CREATE TABLE readings (id bigint, name text)",
    "CREATE TABLE bare (id bigint, name text)",
)
_COPY = "".join(f"{number}\t{name}\n" for number, name in VALUES).encode()


class OnPostgres(WithoutSpark):
    """A table of PostgreSQL beside one that a bare COPY fills."""

    def __init__(self, sink: SinkSpec, connection: psycopg.Connection[Any]) -> None:
        """Use a connection of its own for the bare table."""
        self._connection = connection
        super().__init__(sink, _SCHEMA, _ROWS)

    def bare(self) -> None:
        """COPY bytes that were made before, in a transaction."""
        with (
            self._connection.transaction(),
            self._connection.cursor() as cursor,
            cursor.copy("COPY bare FROM STDIN") as copy,
        ):
            copy.write(_COPY)


class OnDatabase(WithoutSpark):
    """A table of MariaDB or SQLite beside one that a bare INSERT fills."""

    def __init__(self, sink: SinkSpec, connection: Any, *, mark: str) -> None:
        """Use a connection of its own for the bare table.

        Args:
            sink: As a user writes it.
            connection: By DB-API 2; each statement commits.
            mark: What stands for a value in its statements.
        """
        self._connection = connection
        self._insert = f"INSERT INTO bare (id, name) VALUES ({mark}, {mark})"  # noqa: S608 - no value in it
        super().__init__(sink, _SCHEMA, _ROWS)

    def bare(self) -> None:
        """Insert the rows in a transaction, as the driver's `executemany` does it."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute("BEGIN")
            cursor.executemany(self._insert, VALUES)
            cursor.execute("COMMIT")


@contextmanager
def postgres(directory: Path) -> Iterator[GrowingSink]:
    """Give a table of PostgreSQL."""
    del directory
    with Postgres() as server, handed_over():
        dsn = server.create_database("growth")
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            for statement in _TABLES:
                connection.execute(statement.encode())
            yield OnPostgres(hf.Postgres(lambda: dsn, table="readings"), connection)


@contextmanager
def mariadb(directory: Path) -> Iterator[GrowingSink]:
    """Give a table of MariaDB."""
    from lab.mariadb import MariaDB  # noqa: PLC0415 - other sinks run where its driver is not

    del directory
    with MariaDB() as server, handed_over():
        url = server.create_database("growth")
        with server.connect("growth") as connection:
            for statement in _TABLES:
                server.ask(f"{statement} CHARACTER SET utf8mb4", database="growth")
            sink = hf.Database(lambda: url, table="readings")
            yield OnDatabase(sink, connection, mark="%s")


@contextmanager
def sqlite(directory: Path) -> Iterator[GrowingSink]:
    """Give a table of SQLite, with a log that is written ahead."""
    path = directory / "growth.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, handed_over():
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in _TABLES:
            connection.execute(statement)
        sink = hf.Database(lambda: f"sqlite:///{path}", table="readings")
        yield OnDatabase(sink, connection, mark="?")
