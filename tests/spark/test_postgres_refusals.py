"""What the server said of a batch is what the error says: no timeout is a broken connection."""

from __future__ import annotations

import uuid

import psycopg
import pyarrow as pa
import pytest

from holdfast.errors import HoldfastError
from holdfast.ledger import Apply
from holdfast.sinks.postgres import write
from holdfast.sinks.postgres.failures import ServerRefusedError
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.session import Session
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.write import write_batch
from holdfast.sinks.postgres.writer import PostgresWriter
from holdfast.sinks.table_changed import TableChangedError
from lab import Postgres
from tests.ledger_rows import ROW, attempt
from tests.spark.test_postgres_sink import BUDGET, Batch, ids, sink, without_spark
from tests.stand_ins import stand_in

__all__ = ["sink", "without_spark"]

SLOW = """\
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN PERFORM pg_sleep(5); RETURN NEW; END$$;
CREATE TRIGGER t BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION wait()"""


def execute(database: str, statements: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statements.encode())


def refused(sink: PostgresWriter) -> ServerRefusedError:
    with pytest.raises(ServerRefusedError) as raised:
        sink.write(attempt(0), stand_in(Batch([1])))
    assert sink.ledger.read("readings") == ROW, "nothing was committed"
    return raised.value


def test_a_statement_timeout_is_named(sink: PostgresWriter, database: str) -> None:
    execute(database, SLOW)
    sink.close()
    sink.ledger.session = Session(lambda: f"{database} options='-c statement_timeout=100'")
    error = refused(sink)
    assert (error.sqlstate, error.code) == ("57014", "SERVER_REFUSED")
    assert "statement_timeout" in error.why
    sink.close()


def test_a_lock_of_somebody_else_is_named_and_holds_up_no_fence(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch, *, database: str
) -> None:
    monkeypatch.setattr(write, "LOCK_TIMEOUT_MS", 100)
    with psycopg.connect(database) as holder:
        holder.execute("LOCK TABLE readings IN ACCESS EXCLUSIVE MODE")
        error = refused(sink)
        assert (error.sqlstate, "pg_locks" in error.why) == ("55P03", True)
        assert sink.ledger.read("readings") == ROW
        holder.rollback()
    assert sink.write(attempt(0), stand_in(Batch([1]))) == Apply()
    assert ids(database) == [1]


CONSTRAINTS = {
    "a check": ("ALTER TABLE readings ADD CHECK (id > 5)", "23514"),
    "a column that must be given": ("ALTER TABLE readings ADD COLUMN more int NOT NULL", "23502"),
    "a trigger that raises": (
        SLOW.replace("PERFORM pg_sleep(5)", "RAISE EXCEPTION 'not today'"),
        "P0001",
    ),
}


@pytest.mark.parametrize(("change", "sqlstate"), CONSTRAINTS.values(), ids=list(CONSTRAINTS))
def test_what_the_table_does_not_take_is_refused_with_the_servers_reason(
    sink: PostgresWriter, *, database: str, change: str, sqlstate: str
) -> None:
    execute(database, change)
    assert refused(sink).sqlstate == sqlstate
    assert ids(database) == []


CHANGES = {
    "a type": "ALTER TABLE readings ALTER COLUMN id TYPE double precision",
    "a name": "ALTER TABLE readings RENAME COLUMN id TO number",
    "the table's name": "ALTER TABLE readings RENAME TO other",
    "the table's schema": "CREATE SCHEMA away; ALTER TABLE readings SET SCHEMA away",
    "the table": "DROP TABLE readings",
    "another in its place": "DROP TABLE readings; CREATE TABLE readings (id bigint)",
    "its rows": "TRUNCATE readings",
    "how it is kept": "ALTER TABLE readings SET UNLOGGED",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_table_that_changed_since_the_start_takes_no_batch(
    sink: PostgresWriter, *, database: str, change: str
) -> None:
    assert sink.write(attempt(0), stand_in(Batch([1]))) == Apply()
    execute(database, change)
    row = sink.ledger.read("readings")
    with pytest.raises(TableChangedError) as raised:
        sink.write(attempt(1), stand_in(Batch([2])))
    assert (raised.value.code, sink.ledger.read("readings")) == ("TABLE_CHANGED", row)


def test_a_column_more_is_left_empty(sink: PostgresWriter, database: str) -> None:
    execute(database, "ALTER TABLE readings ADD COLUMN more text DEFAULT 'm'")
    assert sink.write(attempt(0), stand_in(Batch([1]))) == Apply()
    assert ids(database) == [1]


@pytest.mark.parametrize(
    ("change", "code"),
    [("TRUNCATE readings", "TABLE_CHANGED"), (CONSTRAINTS["a check"][0], "SERVER_REFUSED")],
)
def test_what_a_task_refuses_keeps_its_code(
    sink: PostgresWriter, *, database: str, change: str, code: str
) -> None:
    """A batch that is too large for the driver is written by a task, which is not tried again."""
    assert sink.write(attempt(0), stand_in(Batch([7]))) == Apply()
    execute(database, change)
    large = Batch([1], size=BUDGET + 1)
    with pytest.raises(HoldfastError) as raised:
        sink.write(attempt(1), stand_in(large))
    assert raised.value.code == code


@pytest.mark.parametrize("where", ["role", "environment", "database"])
def test_a_text_is_never_taken_for_another_encoding(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, *, where: str
) -> None:
    """Rows are sent as UTF-8; what a client says by default is set in many places."""
    name = f"latin_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres.dsn("postgres"), autocommit=True) as admin:
        kind = "LATIN1" if where == "database" else "UTF8"
        made = f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{kind}' LOCALE 'C'"
        admin.execute(made.encode())
        if where == "role":
            admin.execute(f"ALTER DATABASE {name} SET client_encoding = 'LATIN1'".encode())
    if where == "environment":
        monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    dsn, schema = postgres.dsn(name), pa.schema([("value", pa.string())])
    with Session(lambda: dsn).closing_on_error() as connection:
        ensure_tables(connection)
        connection.execute("CREATE TABLE readings (value text)")
        assert replace_row(connection, None, ROW, target="readings")
        target = check_table(connection, "readings", schema)
        batch = pa.record_batch([pa.array(["Zürich é"])], schema=schema)
        write_batch(connection, target, attempt(0), batches=[batch])
        connection.close()
    with psycopg.connect(dsn, client_encoding="utf8") as reader:
        assert reader.execute("SELECT value, length(value) FROM readings").fetchall() == [
            ("Zürich é", 8)
        ]
