"""Ways in which a guarded stream could lose or double rows, and what closes each."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from holdfast import points
from holdfast.ids import BatchId
from holdfast.ledger import Apply, Reason, Refuse, Skip
from holdfast.record.epochs import newest_epoch
from holdfast.record.leases import read_lease
from holdfast.sinks.collect import BUDGET_SETTING
from holdfast.sinks.postgres import large, write
from holdfast.sinks.postgres.fence import session_name
from holdfast.sinks.postgres.ledger_rows import read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.task import Task
from holdfast.sinks.postgres.writer import PostgresWriter
from holdfast.storage.write import open_writer
from holdfast.streams.heartbeat import THREAD
from holdfast.streams.refusal import StartRefusedError
from lab import Postgres
from lab.faults.tcp_proxy import TcpProxy
from tests.ledger_rows import ROW, attempt
from tests.spark.file_stream import Stream, wait_until_given_up
from tests.whole_batches import with_end
from tests.writers import open_writer as open_sink

NUMBERS = pa.record_batch({"id": pa.array(range(50), pa.int64())})


@pytest.fixture
def session(database: str) -> Iterator[psycopg.Connection]:
    """A session of a database with an open ledger row and a table of numbers."""
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        replace_row(connection, None, ROW, target="readings")
        connection.execute("CREATE TABLE readings (id bigint)")
        yield connection


@pytest.fixture
def target(session: psycopg.Connection) -> Target:
    return check_table(session, "readings", NUMBERS.schema)


def ids(session: psycopg.Connection) -> list[int]:
    return [number for (number,) in session.execute("SELECT id FROM readings ORDER BY 1")]


def in_task(dsn: str, target: Target, **changes: Any) -> str:
    """Run what an executor would, here."""
    task = Task(dsn=lambda: dsn, target=target, attempt=attempt(0, **changes))
    (answer,) = task(with_end(NUMBERS))
    return str(answer.column("said")[0])


@pytest.fixture
def stands_still(session: psycopg.Connection, database: str) -> Iterator[psycopg.Connection]:
    """An attempt of the same batch that has written rows, holds the ledger row and stands still."""
    with psycopg.connect(database) as older:
        older.execute(f"SET application_name = '{session_name('readings', 'readings')}'".encode())
        read_row(older, "readings", "readings", lock=True)
        older.execute("INSERT INTO readings VALUES (1)")
        yield older
        older.close()
    assert not session.broken


def test_an_attempt_ends_an_older_one_that_stands_still(
    session: psycopg.Connection,
    database: str,
    *,
    target: Target,
    stands_still: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write, "LOCK_TIMEOUT_MS", 200)
    assert in_task(database, target) == "Apply"
    with pytest.raises(psycopg.OperationalError):
        stands_still.commit()
    assert ids(session) == list(range(50))


def test_an_attempt_that_is_at_work_is_not_ended_by_a_copy_of_itself(
    session: psycopg.Connection,
    database: str,
    *,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two copies of a long task would end each other until Spark gives the batch up."""
    monkeypatch.setattr(write, "LOCK_TIMEOUT_MS", 200)
    waited = threading.Semaphore(0)
    inside = threading.Event()
    look, said = Task._settle, []

    def count_looks(task: Task, other: psycopg.Connection) -> Any:
        waited.release()
        return look(task, other)

    def at_work() -> Iterator[Any]:
        for _ in range(2):  # rows go on coming meanwhile
            yield NUMBERS
            inside.set()
            assert waited.acquire(timeout=30)
        yield NUMBERS

    def write_slowly() -> None:
        with psycopg.connect(database, autocommit=True) as older, suppress(psycopg.Error):
            done = write.write_batch(older, target, attempt(0), batches=at_work())
            said.append(type(done.decision).__name__)

    monkeypatch.setattr(Task, "_settle", count_looks)
    thread = threading.Thread(target=write_slowly)
    thread.start()
    assert inside.wait(30)
    said.append(in_task(database, target))
    waited.release(2)
    thread.join(60)
    assert sorted(said) == ["Apply", "Skip"]
    assert ids(session) == sorted(list(range(50)) * 3)


def test_an_attempt_that_was_replaced_ends_nobody(
    session: psycopg.Connection,
    database: str,
    *,
    target: Target,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(write, "LOCK_TIMEOUT_MS", 200)
    replace_row(session, ROW, replace(ROW, epoch=2, nonce="n2"), target="readings")
    with psycopg.connect(database) as newer:
        newer.execute(f"SET application_name = '{session_name('readings', 'readings')}'".encode())
        read_row(newer, "readings", "readings", lock=True)
        assert in_task(database, target) == Reason.EPOCH_FENCED.name
        newer.execute("INSERT INTO readings VALUES (1)")
        newer.commit()
    assert ids(session) == [1]


def test_a_row_that_is_not_as_it_was_read_is_not_replaced(session: psycopg.Connection) -> None:
    """Somebody was first, or the older driver has committed one more batch meanwhile."""
    mine = replace(ROW, epoch=9, nonce="n9")
    for read in (None, replace(ROW, last_batch=BatchId(4)), replace(ROW, epoch=0)):
        assert not replace_row(session, read, mine, target="readings")
        assert read_row(session, "readings", "readings") == ROW


def test_a_session_is_known_by_its_name_however_long_the_stream_is_called(
    session: psycopg.Connection,
) -> None:
    name = session_name("s" * 100, "t" * 100)
    session.execute(f"SET application_name = '{name}'".encode())
    assert session.execute("SHOW application_name").fetchone() == (name,)
    assert name != session_name("s" * 100, "t" * 99)


@pytest.fixture
def sink(stream: Stream, tmp_path: Path) -> Iterator[PostgresWriter]:
    """A sink of numbers that tasks can write to, with an open ledger row."""
    (tmp_path / "dsn").write_text(stream.dsn)
    stream.execute("DROP TABLE readings; CREATE TABLE readings (id bigint)")
    with psycopg.connect(stream.dsn, autocommit=True) as connection:
        ensure_tables(connection)
        replace_row(connection, None, ROW, target="readings")
    found = open_sink(
        PostgresSink(f"file:{tmp_path / 'dsn'}", table="readings"), stream.spark.range(0)
    )
    yield found
    found.close()


def test_a_task_that_fails_after_its_commit_is_settled_by_the_ledger(
    stream: Stream, sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when its executor is lost too often."""
    write_in_task = large.write_in_task

    def lose_the_answer(*given: Any, **more: Any) -> None:
        assert write_in_task(*given, **more) == Apply()
        raise PySparkException("executors were lost")

    def fail(*_: Any, **__: Any) -> None:
        raise PySparkException("executors were lost")

    numbers = stream.spark.range(50)
    monkeypatch.setattr(large, "write_in_task", lose_the_answer)
    assert sink._write_in_task(attempt(0), numbers, lambda _: None) == Skip()
    monkeypatch.setattr(large, "write_in_task", fail)
    with pytest.raises(PySparkException):
        sink._write_in_task(attempt(1), numbers, lambda _: None)
    assert sink._write_in_task(attempt(3), numbers, lambda _: None) == Refuse(Reason.GAP)


def test_rows_that_differ_every_time_are_counted_and_written_the_same(
    stream: Stream, sink: PostgresWriter
) -> None:
    """Without being kept they would be computed twice: another number of rows would come."""
    differing = F.udf(lambda _: int.from_bytes(os.urandom(1)), "int")
    some = stream.spark.range(2_000).where(differing.asNondeterministic()("id") < 128)
    assert sink._write_in_task(attempt(0), some, lambda _: None) == Apply()


def test_what_changes_between_evidence_and_fence_is_judged_again(stream: Stream) -> None:
    """An older driver commits one more batch after we have looked, and before we fence it."""
    stream.run()

    def commit(point: str) -> None:
        if point == "G4":
            stream.execute("UPDATE holdfast.ledger SET last_batch = 7")

    points.listen(commit)
    try:
        with pytest.raises(StartRefusedError) as refused:
            stream.run()
    finally:
        points.listen(None)
    assert refused.value.findings[0].code == "HF604"


def test_the_lease_is_held_until_a_stopped_querys_batch_has_ended(stream: Stream) -> None:
    with stream.stopped_at("S3"):
        (renewer,) = (each for each in threading.enumerate() if each.name == THREAD)
        renewer.join(3)  # it would give the lease up at once
        record = open_writer(str(stream.root / "_holdfast/readings"))
        lease = read_lease(record, newest_epoch(record))
        assert lease is not None
        assert not lease.released


def test_stopping_a_query_while_a_task_writes_its_batch_leaves_all_of_it_or_nothing(
    stream: Stream, postgres: Postgres, tmp_path: Path
) -> None:
    stream.spark = stream.spark.newSession()
    stream.spark.conf.set(BUDGET_SETTING, "1")
    stream.spark.conf.set("spark.sql.streaming.stopTimeout", "1s")
    with TcpProxy(postgres.port) as proxy:
        through = stream.dsn.replace(f"port={postgres.port}", f"port={proxy.port}")
        (tmp_path / "dsn").write_text(through)
        sink = PostgresSink(f"file:{tmp_path / 'dsn'}", table="readings")
        held = proxy.at(b"COPY ", "hold")
        query = stream.start(into=sink)
        held.wait()
        with suppress(Py4JError, PySparkException):  # it did not stop in time
            query.stop()
        proxy.release()
        wait_until_given_up()
    # Spark ends the task when it gets to it: what was sent until then may be committed.
    assert stream.rows() in ([], ["row 0"])
    (tmp_path / "dsn").write_text(stream.dsn)
    stream.run(into=sink)
    assert stream.rows() == ["row 0", "row 1", "row 2"]
