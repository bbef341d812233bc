"""Tables in a real PostgreSQL, with the shipped ledger and settling; batches without Spark."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pyarrow as pa

from campaigns.histories.machine import Machine
from campaigns.histories.memory_table import COLUMNS, Row
from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.ledger.row import Attempt
from holdfast.sinks.postgres.failures import naming_refusals
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.ledger_rows import find_identity
from holdfast.sinks.postgres.ledger_tables import check_tables, ensure_tables
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.write import write_batch
from holdfast.sinks.postgres.writer import Found, PostgresWriter
from holdfast.sinks.sink import BeforeCommit, SinkSpec

SECRET = "HISTORIES_DSN"  # noqa: S105 - the name of a variable
_SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])


@dataclass(frozen=True)
class DirectPostgres(Postgres):
    """A table that is written to without Spark, through the same transaction."""

    kind: ClassVar[str] = "histories-postgres"

    def resolve_writer(self, df: Any, *, stream: str) -> DirectWriter:
        """Return the writer of one start, once the table takes the rows."""
        del df
        ledger = PostgresLedgerStore(self)
        with naming_refusals(self.display_name), ledger.session.closing_on_error() as connection:
            has_tables = check_tables(connection)
            target = check_table(
                connection, self.table, _SCHEMA, keys=self.keys, sequence_by=self.sequence_by
            )
            ledger.table = target
            if has_tables:
                ledger.find_label(stream)
            identity = find_identity(connection, target.oid)
        found = Found(ledger=ledger, target=target, identity=identity)
        return DirectWriter(self, found=found, spark=None, stream=stream)


class DirectWriter(PostgresWriter):
    """The shipped writer; the rows of a batch come as they are."""

    def create(self) -> None:
        """Create or upgrade the ledger's tables."""
        with naming_refusals(self.display_name):
            ensure_tables(self.ledger.session.connection())

    def _write_once(self, attempt: Attempt, batch: Any, before_commit: BeforeCommit) -> Decision:
        before = decide(self.ledger.read_row(attempt.stream), attempt)
        if not isinstance(before, Apply):
            return before
        columns = {name: [row[name] for row in batch.rows] for name in COLUMNS}
        batches = pa.table(columns, schema=_SCHEMA).to_batches()
        connection = self.ledger.session.connection()
        return write_batch(
            connection, self.target, attempt, batches=batches, before_commit=before_commit
        ).decision


_BEGIN = """\
DO $$ DECLARE each record; BEGIN
  FOR each IN SELECT schemaname, tablename FROM pg_tables WHERE schemaname = 'public'
    OR (schemaname = 'holdfast' AND tablename LIKE 'kept%') LOOP
    EXECUTE format('DROP TABLE %I.%I CASCADE', each.schemaname, each.tablename);
  END LOOP;
  IF to_regclass('holdfast.ledger') IS NOT NULL THEN
    TRUNCATE holdfast.ledger, holdfast.history, holdfast.settled;
  END IF;
END $$;
CREATE SEQUENCE IF NOT EXISTS stamps;
CREATE OR REPLACE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN new.stamp := nextval('stamps'); RETURN new; END $$"""
_CREATE = """\
CREATE TABLE {name} (id text, key text, seq text, v text, stamp bigint,
    number bigint GENERATED ALWAYS AS IDENTITY UNIQUE)"""
_ALTER = {
    "add-column": "ALTER TABLE {name} ADD COLUMN note{number} text",
    "trigger": "CREATE OR REPLACE TRIGGER stamp BEFORE INSERT ON {name}"
    " FOR EACH ROW EXECUTE FUNCTION stamp()",
    "no-trigger": "DROP TRIGGER IF EXISTS stamp ON {name}",
    "reference": "CREATE TABLE IF NOT EXISTS of_{name} (number bigint REFERENCES {name} (number))",
    "no-reference": "DROP TABLE IF EXISTS of_{name}",
    "vacuum": "VACUUM FULL {name}",
    "optimize": "ANALYZE {name}",
}


class PostgresBackend:
    """Tables of one database; whether a table should keep versions is not asked."""

    machine = Machine

    def __init__(self, dsn: str) -> None:
        """Connect."""
        os.environ[SECRET] = dsn
        self._connection = psycopg.connect(dsn, autocommit=True)
        self._changes = 0

    def begin(self, home: Path) -> None:
        """Begin a history without tables."""
        del home
        self._connection.execute(_BEGIN)

    def create(self, name: str, *, by_key: bool, versions: bool) -> None:
        """Create a table."""
        del versions
        self._execute(_CREATE, name)
        if by_key:
            self._execute("CREATE UNIQUE INDEX ON {name} (key)", name)

    def sink(self, name: str, *, by_key: bool, sequenced: bool) -> SinkSpec:
        """Return the sink that writes into a table."""
        return DirectPostgres(
            f"env:{SECRET}",
            table=name,
            keys=("key",) if by_key else (),
            sequence_by="seq" if sequenced else None,
        )

    def rows(self, name: str) -> list[Row]:
        """Return every row; its number and its stamp must never change."""
        statement = f"SELECT id, key, seq, v, number, stamp FROM {name}"  # noqa: S608 - ours
        found = self._connection.execute(statement.encode()).fetchall()
        return [
            {"id": each[0], "key": each[1], "seq": each[2], "v": each[3], "stamp": each[4:]}
            for each in found
        ]

    def insert(self, name: str, rows: list[Row]) -> None:
        """Insert rows as another program."""
        for row in rows:
            values = [row[column] for column in COLUMNS]
            self._execute(
                "INSERT INTO {name} (id, key, seq, v) VALUES (%s, %s, %s, %s)", name, *values
            )

    def update(self, name: str, row_id: str, value: str) -> None:
        """Update a row as another program."""
        self._execute("UPDATE {name} SET v = %s WHERE id = %s", name, value, row_id)

    def delete(self, name: str, row_id: str) -> None:
        """Delete a row as another program."""
        self._execute("DELETE FROM {name} WHERE id = %s", name, row_id)

    def alter(self, name: str, what: str) -> None:
        """Change the table as its owner does."""
        self._execute(_ALTER[what], name)

    def ledger(self, name: str) -> Any:
        """Return what the ledger says, without epochs; to be compared."""
        if self._connection.execute("SELECT to_regclass('holdfast.ledger')").fetchone() == (None,):
            return []
        return self._connection.execute(
            "SELECT stream, generation, query_id, checkpoint, last_batch, digest, end_offsets"
            " FROM holdfast.ledger WHERE sink = %s ORDER BY 1",
            (name,),
        ).fetchall()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _execute(self, statement: str, name: str, *values: str) -> None:
        self._changes += 1
        text = statement.format(name=name, number=self._changes)
        self._connection.execute(text.encode(), values or None)
