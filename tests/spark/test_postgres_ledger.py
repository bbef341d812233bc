"""The ledger's tables in a real PostgreSQL: whose row is replaced, and what shows a lost table."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import LedgerRow
from holdfast.sinks.postgres.examine import examine, pin
from holdfast.sinks.postgres.ledger_rows import fence, read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import LedgerTablesError, ensure_tables
from holdfast.sinks.postgres.settle import describe_table
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.write import write_batch
from tests.ledger_rows import HERE, ROW, attempt

Connection = psycopg.Connection[Any]
SCHEMA = pa.schema([("id", pa.int64())])


def rows(*ids: int) -> Any:
    return pa.record_batch([pa.array(ids, pa.int64())], schema=SCHEMA)


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        connection.execute("CREATE TABLE readings (id bigint)")
        assert replace_row(connection, None, ROW, target="readings")
        yield connection


@pytest.fixture
def target(connection: Connection) -> Target:
    return check_table(connection, "readings", SCHEMA)


def one(connection: Connection, query: str) -> Any:
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return found[0]


OTHERS: dict[str, LedgerRow] = {
    "stream": replace(ROW, stream="other"),
    "sink": replace(ROW, sink="other"),
    "generation": replace(ROW, generation=2),
    "epoch": replace(ROW, epoch=2),
    "nonce": replace(ROW, nonce="other"),
    "query": replace(ROW, binding=replace(HERE, query_id=QueryId("77aa"))),
    "checkpoint": replace(ROW, binding=replace(HERE, checkpoint="s3://lake/copy")),
    "last batch": replace(ROW, last_batch=BatchId(3)),
    "digest": replace(ROW, digest="other"),
    "end": replace(ROW, end_offsets="other"),
}
NEW = LedgerRow(
    stream="readings",
    sink="readings",
    generation=2,
    epoch=7,
    nonce="n7",
    binding=replace(HERE, checkpoint="s3://lake/moved"),
    last_batch=BatchId(4),
    digest="d4",
    end_offsets="e4",
)


@pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))
def test_a_row_is_replaced_only_when_all_of_it_is_the_expected_one(
    connection: Connection, target: Target, other: LedgerRow
) -> None:
    assert not replace_row(connection, other, NEW, target="readings")
    assert read_row(connection, "readings", "readings") == ROW
    assert not replace_row(connection, None, NEW, target="readings")
    write_batch(connection, target, attempt(0), batches=[rows(1)])
    arrived = read_row(connection, "readings", "readings")
    assert replace_row(connection, arrived, NEW, target="readings")
    assert read_row(connection, "readings", "readings") == NEW
    assert one(connection, "SELECT rows FROM holdfast.ledger") is None


def test_a_row_is_found_by_stream_and_sink(connection: Connection) -> None:
    other = replace(NEW, stream="other")
    assert replace_row(connection, None, other, target="readings")
    third = replace(NEW, sink="third")
    assert replace_row(connection, None, third, target="readings")
    assert read_row(connection, "readings", "readings") == ROW
    assert read_row(connection, "other", "readings") == other
    assert read_row(connection, "readings", "third") == third
    assert read_row(connection, "other", "third") is None
    assert fence(connection, ROW, epoch=9, nonce="n9") == replace(ROW, epoch=9, nonce="n9")
    assert read_row(connection, "other", "readings") == other
    elsewhere = replace(ROW, binding=replace(HERE, checkpoint="s3://lake/copy"))
    assert fence(connection, elsewhere, epoch=10, nonce="n10") is None


@pytest.mark.parametrize("version", [0, 4])
def test_tables_of_another_version_are_refused(connection: Connection, version: int) -> None:
    connection.execute("UPDATE holdfast.version SET version = %s", (version,))
    with pytest.raises(LedgerTablesError, match=f"of version {version}"):
        ensure_tables(connection)
    connection.execute("DELETE FROM holdfast.version")
    with pytest.raises(LedgerTablesError, match="of version None"):
        ensure_tables(connection)


def test_tables_are_made_one_at_a_time(database: str) -> None:
    done = threading.Event()

    def make() -> None:
        with psycopg.connect(database, autocommit=True) as other:
            ensure_tables(other)
        done.set()

    with psycopg.connect(database) as first:
        first.execute("SELECT pg_advisory_xact_lock(hashtext('holdfast.ddl'))")
        thread = threading.Thread(target=make)
        thread.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        with psycopg.connect(database, autocommit=True) as watch:
            while not one(watch, waiting):
                assert not done.is_set(), "it did not wait for its turn"
    thread.join()
    assert done.is_set()


def emptied(connection: Connection) -> None:
    connection.execute("DELETE FROM readings")


def test_a_table_that_holds_what_was_written_is_left_alone(
    connection: Connection, target: Target
) -> None:
    assert examine(connection, replace(ROW, stream="other"), target) is None
    assert examine(connection, ROW, target) is None
    write_batch(connection, target, attempt(0), batches=[])
    assert examine(connection, ROW, target) is None, "nothing was brought, and nothing is there"
    write_batch(connection, target, attempt(1), batches=[rows(1, 2)])
    assert examine(connection, ROW, target) is None
    connection.execute("VACUUM FULL readings")
    assert examine(connection, ROW, target) is None
    connection.execute("INSERT INTO readings VALUES (3)")
    assert examine(connection, ROW, target) is None
    pin(connection, ROW, target)
    write_batch(connection, target, attempt(2), batches=[])
    emptied(connection)
    said = "it is empty, and 2 rows were written into it"
    assert examine(connection, ROW, target) == said, "the last batch brought none, the others did"


def test_a_merged_table_holds_fewer_rows_than_were_written(
    connection: Connection, target: Target
) -> None:
    write_batch(connection, target, attempt(0), batches=[rows(1, 2)])
    connection.execute("DELETE FROM readings WHERE id = 2")
    merged = dataclasses.replace(target, keys=("id",))
    assert examine(connection, ROW, merged) is None, "two rows of one key are one"
    emptied(connection)
    assert examine(connection, ROW, merged) is not None


def test_a_table_that_was_emptied_or_replaced_is_told(
    connection: Connection, target: Target
) -> None:
    write_batch(connection, target, attempt(0), batches=[rows(1, 2)])
    write_batch(connection, target, attempt(1), batches=[rows(3)])
    other = replace(attempt(0), stream="other")
    assert replace_row(connection, None, replace(ROW, stream="other"), target="readings")
    write_batch(connection, target, other, batches=[rows(4, 5)])
    emptied(connection)
    said = "it is empty, and 3 rows were written into it"
    assert examine(connection, ROW, target) == said
    connection.execute("TRUNCATE readings")
    connection.execute("INSERT INTO readings VALUES (1), (2)")
    since = "was truncated, restored or rewritten"
    said = f"it {since}: it holds 2 rows, and 3 were written into it"
    assert examine(connection, ROW, target) == said
    connection.execute("INSERT INTO readings VALUES (3)")
    assert examine(connection, ROW, target) is None, "all that was written can be there"


CHANGES = {
    "update": "UPDATE readings SET id = 4 WHERE id = 2",
    "swap": "UPDATE readings SET id = 3 - id WHERE id IN (1, 2)",
    "same value": "UPDATE readings SET id = id WHERE id = 1",
    "insert and delete": "DELETE FROM readings WHERE id = 1; INSERT INTO readings VALUES (1)",
    "delete": "DELETE FROM readings WHERE id = 1",
    "truncate and fill": "TRUNCATE readings; INSERT INTO readings VALUES (1), (2), (3)",
}


@pytest.mark.parametrize("columns", ["(id bigint)", "(id bigint) PARTITION BY HASH (id)"])
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_row_is_another_version_of_the_table(
    connection: Connection, columns: str, change: str
) -> None:
    connection.execute(f"DROP TABLE readings; CREATE TABLE readings {columns}".encode())
    if "PARTITION" in columns:
        for part in (0, 1):
            connection.execute(
                f"CREATE TABLE part{part} PARTITION OF readings FOR VALUES"
                f" WITH (MODULUS 2, REMAINDER {part})".encode()
            )
    connection.execute("INSERT INTO readings VALUES (1), (2), (3)")
    table = check_table(connection, "readings", SCHEMA)
    before = describe_table(connection, table)
    assert before == describe_table(connection, table)
    connection.execute("ANALYZE readings")
    connection.execute("VACUUM FREEZE readings")
    assert before == describe_table(connection, table)
    connection.execute(CHANGES[change].encode())
    assert describe_table(connection, table)[0] != before[0]
