"""One batch into a real PostgreSQL: every line of the table, merges, fences, lost answers."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast import points
from holdfast.ids import BatchId, QueryId
from holdfast.ledger import Apply, Reason, Refuse, Skip
from holdfast.sinks.failures import TableError, UnmergeableRowsError
from holdfast.sinks.postgres.fence import take
from holdfast.sinks.postgres.ledger_rows import fence, read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import LedgerTablesError, ddl, ensure_tables
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.write import write_batch
from lab import Postgres
from tests.ledger_rows import HERE, ROW, attempt

Connection = psycopg.Connection[Any]
SCHEMA = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us")), ("value", pa.string())])


def rows(*values: tuple[int | None, int | None, str | None]) -> list[Any]:
    ids, times, texts = zip(*values, strict=True)
    times_us = pa.array(times, pa.int64()).cast(pa.timestamp("us"))
    return [
        pa.record_batch(
            [pa.array(ids, pa.int64()), times_us, pa.array(texts, pa.string())], schema=SCHEMA
        )
    ]


@pytest.fixture
def dsn(postgres: Postgres) -> str:
    return postgres.create_database(f"write_{uuid.uuid4().hex[:12]}")


@pytest.fixture
def connection(dsn: str) -> Iterator[Connection]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        ensure_tables(connection)
        replace_row(connection, None, ROW, target="readings")
        connection.execute("CREATE TABLE readings (id bigint, at timestamp, value text)")
        yield connection


@pytest.fixture
def target(connection: Connection) -> Target:
    return check_table(connection, "readings", SCHEMA)


def content(connection: Connection) -> list[Any]:
    query = "SELECT id, extract(epoch FROM at) * 1000000, value FROM readings ORDER BY 1, 2, 3"
    return [(a, None if b is None else int(b), c) for a, b, c in connection.execute(query)]


def test_a_batch_is_applied_once_and_then_skipped(connection: Connection, target: Target) -> None:
    for expected in (Apply(), Skip()):
        written = write_batch(connection, target, attempt(0), batches=rows((1, 5, "a")))
        assert written.decision == expected
    assert content(connection) == [(1, 5, "a")]
    history = connection.execute("SELECT batch, rows, digest FROM holdfast.history").fetchall()
    assert history == [(0, 1, "d0")]


def test_an_empty_batch_advances_the_row(connection: Connection, target: Target) -> None:
    write_batch(connection, target, attempt(0), batches=[])
    row = read_row(connection, "readings", "readings")
    assert row is not None
    assert (row.last_batch, row.end_offsets) == (0, "e0")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"epoch": 0, "nonce": "n0"}, Reason.EPOCH_FENCED),
        ({"generation": 2}, Reason.GENERATION_AHEAD),
        ({"batch_id": BatchId(2), "start_offsets": "e0"}, Reason.GAP),
        ({"start_offsets": "x"}, Reason.BROKEN_CHAIN),
        ({"batch_id": BatchId(0), "digest": "x"}, Reason.OTHER_CONTENT),
    ],
)
def test_what_is_refused_writes_nothing(
    connection: Connection, target: Target, *, changes: dict[str, Any], reason: Reason
) -> None:
    write_batch(connection, target, attempt(0), batches=rows((1, 5, "a")))
    before = read_row(connection, "readings", "readings")
    written = write_batch(connection, target, attempt(1, **changes), batches=rows((2, 5, "b")))
    assert written.decision == Refuse(reason)
    assert content(connection) == [(1, 5, "a")]
    assert read_row(connection, "readings", "readings") == before


def test_half_a_batch_is_not_committed(connection: Connection, target: Target) -> None:
    came: list[int] = []

    def refuse(rows: int) -> None:
        came.append(rows)
        raise ValueError("not all of them")

    with pytest.raises(ValueError, match="not all"):
        write_batch(connection, target, attempt(0), batches=rows((1, 5, "a")), before_commit=refuse)
    assert came == [1]
    assert content(connection) == []
    assert read_row(connection, "readings", "readings") == ROW


@pytest.mark.parametrize("trace", ["", "\n\tat org.apache.spark" * 1_000])
def test_a_batch_that_breaks_off_leaves_nothing_and_says_why(
    connection: Connection, target: Target, *, trace: str
) -> None:
    def breaking() -> Iterator[Any]:
        yield from rows((1, 5, "a"))
        raise RuntimeError(f"upstream{trace}")

    with pytest.raises(RuntimeError, match="upstream"):
        write_batch(connection, target, attempt(0), batches=breaking())
    assert content(connection) == []
    assert read_row(connection, "readings", "readings") == ROW


def keyed(connection: Connection, sequence_by: str | None = "at") -> Target:
    connection.execute("CREATE UNIQUE INDEX ON readings (id)")
    return check_table(connection, "readings", SCHEMA, keys=["id"], sequence_by=sequence_by)


def test_an_older_value_never_replaces_a_newer_one(connection: Connection) -> None:
    target = keyed(connection)
    write_batch(connection, target, attempt(0), batches=rows((1, 5, "new"), (2, 5, "b")))
    write_batch(connection, target, attempt(1), batches=rows((1, 4, "old"), (2, 6, "c")))
    assert content(connection) == [(1, 5, "new"), (2, 6, "c")]


def test_of_two_in_one_batch_the_newer_stays(connection: Connection) -> None:
    target = keyed(connection)
    write_batch(connection, target, attempt(0), batches=rows((1, 5, "a"), (1, 7, "b"), (1, 6, "c")))
    assert content(connection) == [(1, 7, "b")]


@pytest.mark.parametrize("kind", ["text", "json"])
@pytest.mark.parametrize("order", [["1", "2", None], [None, "2", "1"], ["2", None, "1"]])
def test_ties_end_the_same_however_they_fall_into_batches(
    connection: Connection, *, order: list[str | None], kind: str
) -> None:
    connection.execute(f"ALTER TABLE readings ALTER COLUMN value TYPE {kind} USING NULL".encode())
    target = keyed(connection)
    for number, value in enumerate(order):
        write_batch(connection, target, attempt(number), batches=rows((1, 5, value)))
    query = "SELECT id, value::text FROM readings"
    separately = connection.execute(query).fetchall()
    connection.execute("DELETE FROM readings")
    write_batch(connection, target, attempt(3), batches=rows(*((1, 5, value) for value in order)))
    assert connection.execute(query).fetchall() == separately
    if kind == "text":
        assert separately == [(1, None)], "NULL is the largest, as PostgreSQL compares rows"


def test_a_null_order_value_is_older_than_anything(connection: Connection) -> None:
    target = keyed(connection)
    write_batch(connection, target, attempt(0), batches=rows((1, None, "null")))
    write_batch(connection, target, attempt(1), batches=rows((1, 3, "value")))
    write_batch(connection, target, attempt(2), batches=rows((1, None, "null again")))
    assert content(connection) == [(1, 3, "value")]


def test_a_null_order_value_is_older_than_another_in_its_batch(connection: Connection) -> None:
    target = keyed(connection)
    write_batch(connection, target, attempt(0), batches=rows((1, None, "b"), (1, 3, "a")))
    assert content(connection) == [(1, 3, "a")]


def test_a_null_key_is_refused_and_nothing_is_written(connection: Connection) -> None:
    target = keyed(connection)
    with pytest.raises(UnmergeableRowsError, match="1 rows have a NULL in id"):
        write_batch(connection, target, attempt(0), batches=rows((1, 5, "a"), (None, 5, "b")))
    assert content(connection) == []


def test_without_an_order_a_key_that_comes_twice_is_refused(connection: Connection) -> None:
    target = keyed(connection, sequence_by=None)
    with pytest.raises(UnmergeableRowsError, match="1 keys come twice"):
        write_batch(connection, target, attempt(0), batches=rows((1, 5, "a"), (1, 5, "b")))
    write_batch(connection, target, attempt(0), batches=rows((1, 5, "a")))
    write_batch(connection, target, attempt(1), batches=rows((1, 4, "b")))
    assert content(connection) == [(1, 4, "b")]


def test_a_fence_is_taken_only_from_a_lower_epoch_and_the_same_checkpoint(
    connection: Connection,
) -> None:
    assert fence(connection, ROW, epoch=3, nonce="n3") == replace(ROW, epoch=3, nonce="n3")
    assert fence(connection, ROW, epoch=2, nonce="n2") is None
    assert fence(connection, ROW, epoch=3, nonce="other") is None
    other = replace(ROW, binding=replace(HERE, query_id=QueryId("77aa")))
    assert fence(connection, other, epoch=9, nonce="n9") is None


def test_a_driver_that_is_fenced_writes_nothing_more(
    connection: Connection, target: Target
) -> None:
    fence(connection, ROW, epoch=2, nonce="n2")
    written = write_batch(connection, target, attempt(0), batches=rows((1, 5, "a")))
    assert written.decision == Refuse(Reason.EPOCH_FENCED)
    assert content(connection) == []


@pytest.mark.parametrize("where", ["S3", "S5"])
def test_who_stands_still_inside_its_transaction_is_ended_by_the_fence(
    connection: Connection, target: Target, *, dsn: str, where: str
) -> None:
    """A driver that was stopped between its decision and its commit: it holds the row."""
    inside, go_on = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    def stop(point: str) -> None:
        if point == where and threading.current_thread() is zombie:
            inside.set()
            go_on.wait(60)

    def run() -> None:
        try:
            with psycopg.connect(dsn, autocommit=True) as other:
                write_batch(other, target, attempt(0), batches=rows((1, 5, "a")))
        except psycopg.OperationalError as error:
            failed.append(error)

    zombie = threading.Thread(target=run)
    points.listen(stop)
    try:
        zombie.start()
        assert inside.wait(30)
        change = partial(fence, connection, ROW, epoch=2, nonce="n2")
        taken = take(connection, ROW, change)
    finally:
        go_on.set()
        zombie.join(60)
        points.listen(None)
    assert taken is not None
    assert failed, "the zombie committed"
    assert content(connection) == []


def test_the_tables_are_made_by_many_at_once(dsn: str) -> None:
    def make(_: int) -> None:
        with psycopg.connect(dsn, autocommit=True) as each:
            ensure_tables(each)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with psycopg.connect(dsn) as one:
        assert one.execute("SELECT version FROM holdfast.version").fetchall() == [(3,)]
        one.execute(ddl().encode())  # again


def test_a_role_that_may_not_make_the_tables_is_told_what_to_run(dsn: str) -> None:
    role = f"r{uuid.uuid4().hex[:8]}"
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN".encode())
    with psycopg.connect(dsn, autocommit=True) as weak:
        weak.execute(f"SET ROLE {role}".encode())
        with pytest.raises(LedgerTablesError, match="holdfast ledger ddl"):
            ensure_tables(weak)


BROKEN: dict[str, tuple[str, str, str]] = {
    "no table": ("DROP TABLE readings", "no such table", 'CREATE TABLE "readings" ("id" bigint,'),
    "no column": (
        "ALTER TABLE readings DROP COLUMN value",
        "no column value",
        'ADD COLUMN "value" text',
    ),
    "another type": (
        "ALTER TABLE readings ALTER COLUMN id TYPE integer",
        "id is integer; in the stream it is bigint",
        'ALTER COLUMN "id" TYPE bigint',
    ),
    "a column that must be given": (
        "ALTER TABLE readings ADD COLUMN more text NOT NULL",
        "more (text) is NOT NULL",
        'ALTER COLUMN "more" DROP NOT NULL',
    ),
}


@pytest.mark.parametrize(("damage", "why", "sql"), BROKEN.values(), ids=list(BROKEN))
def test_a_table_that_does_not_fit_is_refused_with_the_sql_that_mends_it(
    connection: Connection, *, damage: str, why: str, sql: str
) -> None:
    connection.execute(damage.encode())
    with pytest.raises(TableError) as raised:
        check_table(connection, "readings", SCHEMA)
    assert why in raised.value.why
    assert sql in raised.value.sql
    connection.execute(raised.value.sql.encode())
    check_table(connection, "readings", SCHEMA)


def test_a_merge_needs_a_unique_index_on_its_keys(connection: Connection) -> None:
    with pytest.raises(TableError, match="no unique index") as raised:
        check_table(connection, "readings", SCHEMA, keys=["id"])
    connection.execute(raised.value.sql.encode())
    check_table(connection, "readings", SCHEMA, keys=["id"])


def test_names_are_quoted(connection: Connection) -> None:
    name = 'Odd "name"; DROP TABLE readings; --'
    connection.execute(('CREATE TABLE "' + name.replace('"', '""') + '" ("a b" bigint)').encode())
    schema = pa.schema([("a b", pa.int64())])
    target = check_table(connection, name, schema)
    batch = pa.record_batch([pa.array([7])], schema=schema)
    write_batch(connection, target, attempt(0), batches=[batch])
    assert connection.execute(f"SELECT * FROM {target.name}".encode()).fetchall() == [(7,)]
    assert content(connection) == []
