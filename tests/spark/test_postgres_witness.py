"""A table that was rewritten keeps its rows; one that was emptied and filled again does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.sinks.postgres.examine import examine, pin
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.table import check_table, find_table
from holdfast.sinks.postgres.write import write_batch
from tests.ledger_rows import ROW, attempt

Connection = psycopg.Connection[Any]
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])
PLAIN = "CREATE TABLE readings (id bigint, v bigint)"
KEYED = "CREATE TABLE readings (id bigint PRIMARY KEY, v bigint)"
PARENT = (
    f"{PLAIN}; CREATE TABLE child () INHERITS (readings);"
    "INSERT INTO child SELECT 1000 + g, g FROM generate_series(1, 20) g"
)
PARTITIONED = """\
CREATE TABLE readings (id bigint, v bigint) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF readings FOR VALUES FROM (0) TO (100);
CREATE TABLE high PARTITION OF readings FOR VALUES FROM (100) TO (2000)"""


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        yield connection


def filled(connection: Connection, made: str, *keys: str) -> None:
    """Make a table and write two batches into it; the second start has pinned it."""
    connection.execute(made.encode())
    assert replace_row(connection, None, ROW, target="readings")
    target = check_table(connection, "readings", SCHEMA, keys=keys)
    for number in range(2):
        ids = pa.array(range(number * 5, number * 5 + 5), pa.int64())
        rows = pa.record_batch([ids, ids], schema=SCHEMA)
        write_batch(connection, target, attempt(number), batches=[rows])


def examined(connection: Connection) -> str | None:
    table = find_table(connection, "readings")
    assert table is not None
    return examine(connection, ROW, table)


REFILL = "INSERT INTO readings SELECT 1000 + g, g FROM generate_series(1, 12) g"
EMPTIED = {
    "truncated and filled": (PLAIN, (), f"TRUNCATE readings; {REFILL}"),
    "with a key": (KEYED, ("id",), f"TRUNCATE readings; {REFILL}"),
    "dropped and filled": (PLAIN, (), f"DROP TABLE readings; {PLAIN}; {REFILL}"),
    "only the parent": (PARENT, (), "TRUNCATE ONLY readings"),
    "only rows of the parent": (PARENT, (), "DELETE FROM ONLY readings"),
    "only the parent, and filled": (PARENT, (), f"TRUNCATE ONLY readings; {REFILL}"),
    "a partition": (
        PARTITIONED,
        (),
        f"TRUNCATE low; {REFILL};"
        "INSERT INTO readings SELECT 50 + g, g FROM generate_series(1, 9) g",
    ),
}
KEPT = {
    "VACUUM FULL": (PLAIN, (), "VACUUM FULL readings"),
    "CLUSTER": (KEYED, ("id",), "CLUSTER readings USING readings_pkey"),
    "another writer and VACUUM FULL": (PLAIN, (), f"{REFILL}; VACUUM FULL readings"),
    "a rewrite": (PLAIN, (), "ALTER TABLE readings ADD COLUMN u uuid DEFAULT gen_random_uuid()"),
    "a wider type": (PLAIN, (), "ALTER TABLE readings ALTER COLUMN v TYPE numeric"),
    "values changed, rewritten": (
        KEYED,
        ("id",),
        "UPDATE readings SET v = -1;"
        "ALTER TABLE readings ADD COLUMN u uuid DEFAULT gen_random_uuid()",
    ),
    "restored": (
        PLAIN,
        (),
        "CREATE TABLE copy AS TABLE readings; DROP TABLE readings;"
        "ALTER TABLE copy RENAME TO readings",
    ),
    "rows of the children": (PARENT, (), "DELETE FROM child; VACUUM FULL readings"),
    "a partition rewritten": (PARTITIONED, (), "VACUUM FULL low"),
    "a partition dropped": (
        PARTITIONED,
        (),
        "INSERT INTO readings SELECT 50, g FROM generate_series(1, 9) g;"
        "VACUUM FULL low; DROP TABLE high",
    ),
    "some rows deleted": (PLAIN, (), "DELETE FROM readings WHERE id < 9"),
}


def run(connection: Connection, statements: str) -> None:
    for statement in statements.split(";"):
        connection.execute(statement.encode())


@pytest.mark.parametrize(("made", "keys", "done"), EMPTIED.values(), ids=list(EMPTIED))
@pytest.mark.parametrize("is_pinned", [False, True], ids=["first run", "started again"])
def test_what_was_emptied_is_noticed_although_there_are_rows(  # noqa: PLR0917 - a row of the table
    connection: Connection, made: str, keys: tuple[str, ...], done: str, is_pinned: bool
) -> None:
    filled(connection, made, *keys)
    if is_pinned:
        pinned(connection)
    run(connection, done)
    assert examined(connection) is not None


@pytest.mark.parametrize(("made", "keys", "done"), KEPT.values(), ids=list(KEPT))
def test_what_was_only_rewritten_is_no_contradiction(  # noqa: PLR0917 - a row of the table
    connection: Connection, made: str, keys: tuple[str, ...], done: str
) -> None:
    filled(connection, made, *keys)
    run(connection, done)
    assert examined(connection) is None
    pinned(connection)
    assert examined(connection) is None


def pinned(connection: Connection) -> None:
    table = find_table(connection, "readings")
    assert table is not None
    with connection.transaction():
        pin(connection, ROW, table)


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"storage": 1}', '{"rows": {"1": [2]}}'])
def test_a_witness_that_is_not_understood_says_nothing(
    connection: Connection, text: str | None
) -> None:
    filled(connection, PLAIN)
    connection.execute("UPDATE holdfast.ledger SET witness = %s", (text,))
    run(connection, f"TRUNCATE readings; {REFILL}")
    assert examined(connection) is None


def test_rows_of_others_are_no_rows_of_a_stream_that_has_written_nothing(
    connection: Connection,
) -> None:
    connection.execute(PLAIN)
    connection.execute(REFILL)
    assert replace_row(connection, None, ROW, target="readings")
    pinned(connection)
    run(connection, f"TRUNCATE readings; {REFILL}")
    assert examined(connection) is None
