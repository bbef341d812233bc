"""The transaction of a batch in a real PostgreSQL: its limits, its points, its locks, its row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg import errors

from holdfast import points
from holdfast.drills.kill.waiting import wait_until
from holdfast.ids import BatchId
from holdfast.ledger import Apply, Skip
from holdfast.sinks.failures import UnmergeableRowsError
from holdfast.sinks.postgres import fence as fencing
from holdfast.sinks.postgres.fence import look_at_blockers, session_name, take
from holdfast.sinks.postgres.ledger_rows import fence, read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.send import PIECE_BYTES
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.write import write_batch
from tests.ledger_rows import ROW, attempt

Connection = psycopg.Connection[Any]
SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.string())])
QUICK_MS = 40


def rows(*values: tuple[int | None, str | None]) -> Any:
    ids, texts = zip(*values, strict=True)
    return pa.record_batch([pa.array(ids, pa.int64()), pa.array(texts)], schema=SCHEMA)


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        connection.execute("CREATE TABLE readings (id bigint, value text)")
        assert replace_row(connection, None, ROW, target="readings")
        yield connection


@pytest.fixture
def target(connection: Connection) -> Target:
    return check_table(connection, "readings", SCHEMA)


@pytest.fixture
def reached() -> Iterator[list[str]]:
    found: list[str] = []
    points.listen(found.append)
    yield found
    points.listen(None)


def one(connection: Connection, query: str) -> Any:
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return found if len(found) > 1 else found[0]


def content(connection: Connection) -> list[Any]:
    return connection.execute("SELECT id, value FROM readings ORDER BY 1, 2").fetchall()


def test_limits_and_name_hold_for_the_transaction_alone(
    connection: Connection, target: Target
) -> None:
    settings = ("lock_timeout", "idle_in_transaction_session_timeout", "application_name")

    def shown(_: int = 0) -> list[Any]:
        return [one(connection, f"SHOW {setting}") for setting in settings]

    before, inside = shown(), []
    write_batch(
        connection,
        target,
        attempt(0),
        batches=[],
        before_commit=lambda rows: inside.extend(shown(rows)),
    )
    assert inside == ["1min", "1min", session_name("readings", "readings")]
    assert shown() == before


def test_the_name_of_a_stream_s_sessions_is_the_same_in_every_release() -> None:
    """A new driver ends the sessions of an older release by it."""
    expected = sha256(b"readings/gold").hexdigest()[:32]
    assert session_name("readings", "gold") == f"holdfast-{expected}"


def test_the_points_are_passed_in_their_order(
    connection: Connection, target: Target, reached: list[str], *, database: str
) -> None:
    def committed() -> int:
        with psycopg.connect(database) as other:
            return int(one(other, "SELECT count(*) FROM readings"))

    points.listen(lambda point: reached.append(f"{point} {committed()}"))
    batches = [rows((1, "a"), (2, "b")), rows((3, "c"))]
    written = write_batch(
        connection,
        target,
        attempt(0),
        batches=iter(batches),
        before_commit=lambda rows: reached.append(f"before {rows}"),
    )
    assert (written.decision, written.rows) == (Apply(), 3)
    before = ["S2 0", "S3 0", "copying 0", "copying 0", "S4 0", "S5 0", "before 3"]
    assert reached == [*before, "S6 3"]
    reached.clear()
    untouched = iter(batches)
    written = write_batch(connection, target, attempt(0), batches=untouched)
    assert (written.decision, written.rows) == (Skip(), 0)
    assert reached == ["S2 3", "S3 3", "S6 3"]
    assert len(list(untouched)) == 2


def test_the_row_and_the_history_say_what_arrived(connection: Connection, target: Target) -> None:
    write_batch(connection, target, attempt(0), batches=[rows((1, "a"), (2, "b"))])
    write_batch(connection, target, attempt(1), batches=[rows((3, "c"))])
    row = replace(ROW, last_batch=BatchId(1), digest="d1", end_offsets="e1")
    assert read_row(connection, "readings", "readings") == row
    ledger = "SELECT rows, committed_at <= now(), target IS NOT NULL FROM holdfast.ledger"
    assert one(connection, ledger) == (1, True, True)
    history = connection.execute(
        "SELECT stream, sink, generation, batch, epoch, digest, rows, committed_at <= now()"
        " FROM holdfast.history ORDER BY batch"
    ).fetchall()
    assert history == [
        ("readings", "readings", 1, 0, 1, "d0", 2, True),
        ("readings", "readings", 1, 1, 1, "d1", 1, True),
    ]


def test_a_batch_larger_than_a_piece_arrives_whole(connection: Connection, target: Target) -> None:
    texts = [(number, "x" * (PIECE_BYTES // 3 + number)) for number in range(8)]
    written = write_batch(connection, target, attempt(0), batches=[rows(*texts)])
    assert written.rows == 8
    assert content(connection) == texts


@contextmanager
def holding(database: str, name: str) -> Iterator[Connection]:
    """Give a session that holds the ledger row, under this name."""
    with psycopg.connect(database, application_name=name) as other:
        other.execute("SELECT * FROM holdfast.ledger FOR UPDATE")
        yield other


def test_two_do_not_decide_about_one_stream_at_once(
    connection: Connection, target: Target, *, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.write.LOCK_TIMEOUT_MS", QUICK_MS)
    with holding(database, "somebody"), pytest.raises(errors.LockNotAvailable):
        write_batch(connection, target, attempt(0), batches=[rows((1, "a"))])
    assert content(connection) == []


def is_open(connection: Connection) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def test_a_fence_ends_the_sessions_of_its_own_stream_alone(
    connection: Connection, *, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fencing, "LOCK_TIMEOUT_MS", QUICK_MS)
    change = partial(fence, connection, ROW, epoch=2, nonce="n2")
    mine = session_name("readings", "readings")
    with (
        psycopg.connect(database, application_name=mine) as idle,
        holding(database, mine) as zombie,
    ):
        idle.execute("SELECT 1")
        assert take(connection, ROW, change) == replace(ROW, epoch=2, nonce="n2")
        assert is_open(idle), "it holds nothing"
        assert not is_open(zombie)
    assert one(connection, "SHOW lock_timeout") == "0"


def test_a_fence_gives_up_on_whom_it_may_not_end(
    connection: Connection, *, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fencing, "LOCK_TIMEOUT_MS", QUICK_MS)
    monkeypatch.setattr(fencing, "TRIES", 3)
    tries: list[int] = []

    def change() -> None:
        tries.append(1)
        fence(connection, ROW, epoch=2, nonce="n2")

    with holding(database, "somebody by hand") as other:
        with pytest.raises(errors.LockNotAvailable):
            take(connection, ROW, change)
        assert len(tries) == 3
        assert is_open(other)
    assert read_row(connection, "readings", "readings") == ROW


def test_a_fence_is_committed_when_its_point_is_passed(
    connection: Connection, reached: list[str]
) -> None:
    def stop(point: str) -> None:
        reached.append(point)
        raise RuntimeError("killed")

    change = partial(fence, connection, ROW, epoch=2, nonce="n2")
    points.listen(stop)
    with pytest.raises(RuntimeError, match="killed"):
        take(connection, ROW, change)
    points.listen(reached.append)
    assert read_row(connection, "readings", "readings") == ROW, "it was inside the transaction"
    assert take(connection, ROW, change) is not None
    assert reached == ["fenced", "fenced"]


def test_what_a_session_that_holds_the_row_is_doing_is_seen(
    connection: Connection, database: str
) -> None:
    mine = session_name("readings", "readings")
    assert look_at_blockers(connection, ROW) == {}
    with holding(database, "somebody"), holding_elsewhere(database):
        assert look_at_blockers(connection, ROW) == {}
    with holding(database, mine) as zombie:
        found = look_at_blockers(connection, ROW)
        assert list(found) == [zombie.info.backend_pid]
        ((_, since, copied),) = found.values()
        assert copied is None
        # It has answered, and is about to wait.
        still = {zombie.info.backend_pid: ("ClientRead", since, None)}
        assert wait_until(lambda: look_at_blockers(connection, ROW) == still, seconds=60)
        with zombie.cursor().copy("COPY readings (value) FROM STDIN") as stream:
            stream.write("a\n" * 50_000)
            zombie.pgconn.flush()

            def is_copying() -> bool:
                ((_, later, copied),) = look_at_blockers(connection, ROW).values()
                return copied is not None and later > since

            assert wait_until(is_copying, seconds=60)


@contextmanager
def holding_elsewhere(database: str) -> Iterator[None]:
    """Hold a lock on another table, under the stream's name."""
    name = session_name("readings", "readings")
    with psycopg.connect(database, application_name=name) as other:
        other.execute("SELECT * FROM readings FOR UPDATE")
        yield


def keyed(connection: Connection, *keys: str, sequence_by: str | None = None) -> Target:
    connection.execute(f"CREATE UNIQUE INDEX ON readings ({', '.join(keys)})".encode())
    return check_table(connection, "readings", SCHEMA, keys=keys, sequence_by=sequence_by)


def test_rows_that_are_all_key_are_there_once(connection: Connection) -> None:
    target = keyed(connection, "id", "value")
    for number in range(2):
        batch = [rows((1, "a"), (2, "b"), (number + 5, "c"))]
        write_batch(connection, target, attempt(number), batches=batch)
    assert content(connection) == [(1, "a"), (2, "b"), (5, "c"), (6, "c")]


def test_a_null_in_any_key_is_refused_and_all_are_counted(connection: Connection) -> None:
    target = keyed(connection, "id", "value")
    batch = [rows((1, None), (None, "b"), (None, None), (4, "d"))]
    with pytest.raises(UnmergeableRowsError, match="3 rows have a NULL in id, value"):
        write_batch(connection, target, attempt(0), batches=batch)
    assert content(connection) == []


def test_a_key_of_two_columns_comes_twice_only_when_both_are_the_same(
    connection: Connection,
) -> None:
    target = keyed(connection, "id", "value")
    write_batch(connection, target, attempt(0), batches=[rows((1, "a"), (1, "b"), (2, "a"))])
    assert content(connection) == [(1, "a"), (1, "b"), (2, "a")]
    batch = [rows((5, "a"), (5, "a"), (6, "b"), (6, "b"), (7, "c"))]
    with pytest.raises(UnmergeableRowsError, match="2 keys come twice"):
        write_batch(connection, target, attempt(1), batches=batch)


@pytest.mark.parametrize("batches", [1, 2])
def test_of_two_texts_in_one_moment_the_larger_by_its_bytes_stays(
    connection: Connection, batches: int
) -> None:
    """As Delta's sink has it: "b" is after "C", whatever a language says."""
    connection.execute('ALTER TABLE readings ALTER COLUMN value TYPE text COLLATE "en-x-icu"')
    connection.execute("ALTER TABLE readings ADD COLUMN at bigint")
    schema = pa.schema([*SCHEMA, ("at", pa.int64())])
    connection.execute("CREATE UNIQUE INDEX ON readings (id)")
    target = check_table(connection, "readings", schema, keys=["id"], sequence_by="at")
    found = [
        pa.record_batch([pa.array([1]), pa.array([text]), pa.array([5])], schema=schema)
        for text in ("b", "C")
    ]
    given = [found] if batches == 1 else [[each] for each in found]
    for number, batch in enumerate(given):
        write_batch(connection, target, attempt(number), batches=batch)
    assert content(connection) == [(1, "b")]
