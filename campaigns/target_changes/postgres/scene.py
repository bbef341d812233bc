"""A table of PostgreSQL with its stream, in a database of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from pyspark.sql import SparkSession

from campaigns.target_changes.cells import Cell, Table
from campaigns.target_changes.postgres.constraints import ROLE
from campaigns.target_changes.rows import SCHEMA, Row, write_file
from holdfast.sinks.postgres import write
from holdfast.sinks.postgres.ledger_tables import ddl
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.streams.start import start
from lab import Postgres
from lab.postgres import PASSWORD

CHANGER = "changer"
"""The application name of the session that changes the table."""
LOCK_TIMEOUT_MS = 1_500

_COLUMNS = "id bigint, seq bigint, level integer, amount numeric(10,2), note text"
_PARTITIONS = (
    "CREATE TABLE readings_first PARTITION OF readings FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE readings_rest PARTITION OF readings FOR VALUES FROM (10) TO (10000)",
)
_ROLE = f"""DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
        CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}';
    END IF;
END $$"""
_GRANTS = (
    f"GRANT USAGE ON SCHEMA holdfast TO {ROLE}",
    f"GRANT SELECT ON holdfast.version TO {ROLE}",
    f"GRANT SELECT, INSERT, UPDATE ON holdfast.ledger TO {ROLE}",
    f"GRANT SELECT, INSERT ON holdfast.history TO {ROLE}",
    f"GRANT SELECT, INSERT, UPDATE ON readings TO {ROLE}",
)
_TABLES = """SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'holdfast')
ORDER BY 1"""
_IS_WAITING = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
AND wait_event_type = 'Lock' AND (application_name = %s) = %s"""


class PostgresScene:
    """One table, its stream, and the session of those who change it."""

    def __init__(
        self, cell: Cell, *, spark: SparkSession, server: Postgres, directory: Path
    ) -> None:
        self.cell = cell
        self.server = server
        self._spark = spark
        self._root = directory / "streams"
        self._files = directory / "in"
        self._files.mkdir(parents=True)
        self._database = f"cell_{uuid.uuid4().hex[:12]}"
        self.dsn = server.create_database(self._database)
        user = f" user={ROLE}" if cell.change.setup == "role" else ""
        self._secret = directory / "dsn"
        self._secret.write_text(f"{self.dsn}{user}")
        self.lock: psycopg.Connection[Any] | None = None
        self.execute(*self._setup())

    def _setup(self) -> Iterator[str]:
        setup = self.cell.change.setup
        keys = ", PRIMARY KEY (id)" if self.cell.table is Table.MERGED else ""
        split = " PARTITION BY RANGE (id)" if setup == "partitioned" else ""
        yield f"CREATE TABLE readings ({_COLUMNS}{keys}){split}"
        if setup == "partitioned":
            yield from _PARTITIONS
        if setup == "role":
            yield from (ddl(), _ROLE, *_GRANTS)

    def execute(self, *statements: str) -> None:
        """Run statements as those who change the table do, each for itself."""
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def connect(self) -> psycopg.Connection[Any]:
        """Return a session of those who change the table."""
        return psycopg.connect(self.dsn, autocommit=True, application_name=CHANGER)

    def start(self) -> Any:
        """Start the stream."""
        reader = self._spark.readStream.schema(SCHEMA).format("json")
        df = reader.option("maxFilesPerTrigger", 1).load(str(self._files))
        is_merged = self.cell.table is Table.MERGED
        sink = PostgresSink(
            f"file:{self._secret}",
            table="readings",
            keys=("id",) if is_merged else (),
            sequence_by="seq" if is_merged else None,
        )
        return start(df, stream="readings", into=sink, root=str(self._root))

    def add(self, batch: int) -> None:
        """Add the file of a batch."""
        write_file(self._files, batch)

    def act(self) -> None:
        """Do the change."""
        act = self.cell.change.act
        if callable(act):
            act(self)
        else:
            self.execute(*act)

    def is_waiting(self) -> bool:
        """Return whether the change waits for a lock; one that restarts the server does not."""
        return self.cell.change.setup != "server" and self._is_any_waiting(is_changer=True)

    def is_stream_waiting(self) -> bool:
        """Return whether the stream waits for a lock."""
        return self._is_any_waiting(is_changer=False)

    def _is_any_waiting(self, *, is_changer: bool) -> bool:
        try:
            with psycopg.connect(self.dsn) as connection:
                found = connection.execute(_IS_WAITING, (CHANGER, is_changer)).fetchone()
        except psycopg.OperationalError:  # the change is that the server is away
            return False
        return bool(found and found[0])

    def release(self) -> None:
        """End the session that holds a lock."""
        if self.lock is not None:
            self.lock.close()
            self.lock = None

    def find(self, table: str) -> tuple[Sequence[str], list[tuple[object, ...]]]:
        """Return the stream's columns that a table has, and their values."""
        with psycopg.connect(self.dsn) as connection:
            known = connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s)"
                " AND attnum > 0 AND NOT attisdropped",
                (table,),
            ).fetchall()
            there = {name for (name,) in known}
            columns = [column for column in Row._fields if column in there]
            if not columns:
                return Row._fields, []
            query = sql.SQL("SELECT {} FROM {}").format(
                sql.SQL(", ").join(map(sql.Identifier, columns)),
                sql.Identifier(*table.split(".")),
            )
            return columns, connection.execute(query).fetchall()

    def snapshot(self) -> object:
        """Return every row of every table except the ledger's."""
        with psycopg.connect(self.dsn) as connection:
            names = [name for (name,) in connection.execute(_TABLES).fetchall()]
            return {
                name: sorted(connection.execute(f"SELECT t::text FROM {name} t").fetchall())  # noqa: S608 - quoted
                for name in names
            }

    def close(self) -> None:
        """Drop the database."""
        self.release()
        with psycopg.connect(self.server.address, autocommit=True) as connection:
            name = sql.Identifier(self._database)
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@contextmanager
def postgres_scene(
    cell: Cell, *, spark: SparkSession, server: Postgres, directory: Path
) -> Iterator[PostgresScene]:
    """Give the scene of a cell; a change that restarts the server has one of its own."""
    if cell.change.setup == "server":
        with Postgres() as own:
            yield PostgresScene(cell, spark=spark, server=own, directory=directory)
        return
    scene = PostgresScene(cell, spark=spark, server=server, directory=directory)
    normal = write.LOCK_TIMEOUT_MS
    try:
        if cell.change.is_temporary:
            write.LOCK_TIMEOUT_MS = LOCK_TIMEOUT_MS
        yield scene
    finally:
        write.LOCK_TIMEOUT_MS = normal
        scene.close()
