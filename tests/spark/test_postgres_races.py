"""Two sessions that want to write the same batch of a real PostgreSQL: it is there once."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast import points
from holdfast.drills.kill.waiting import wait_until
from holdfast.ledger import Apply, Reason, Refuse
from holdfast.sinks.postgres import write
from holdfast.sinks.postgres.ledger_rows import fence, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.task import Task
from holdfast.sinks.postgres.write import write_batch
from lab import Postgres
from tests.ledger_rows import ROW, attempt
from tests.whole_batches import with_end

IDS = range(50)
BATCH = pa.record_batch([pa.array(IDS, pa.int64())], schema=pa.schema([("id", pa.int64())]))


@pytest.fixture
def dsn(postgres: Postgres) -> str:
    dsn = postgres.create_database(f"races_{uuid.uuid4().hex[:12]}")
    with psycopg.connect(dsn, autocommit=True) as connection:
        ensure_tables(connection)
        connection.execute("CREATE TABLE readings (id bigint)")
        replace_row(connection, None, ROW, target="readings")
    return dsn


@pytest.fixture
def target(dsn: str) -> Target:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return check_table(connection, "readings", BATCH.schema)


def ids(dsn: str) -> Counter[int]:
    with psycopg.connect(dsn) as connection:
        return Counter(row[0] for row in connection.execute("SELECT id FROM readings"))


class Beside(threading.Thread):
    """Runs something beside the test, and keeps what it returned or raised."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work
        self.outcome: Any = None

    def run(self) -> None:
        try:
            self.outcome = self._work()
        except psycopg.Error as error:
            self.outcome = error


@contextmanager
def standing_at(point: str, work: Callable[[], Any]) -> Iterator[Beside]:
    """Run something beside the test that stands still at a point, until the test is through."""
    inside, go_on = threading.Event(), threading.Event()
    beside = Beside(work)

    def halt(reached: str) -> None:
        if reached == point and threading.current_thread() is beside:
            inside.set()
            go_on.wait(60)

    points.listen(halt)
    try:
        beside.start()
        assert inside.wait(30), f"it never came by {point}"
        yield beside
    finally:
        go_on.set()
        beside.join(60)
        points.listen(None)


def test_what_changes_while_it_waits_for_the_row_is_seen(dsn: str, target: Target) -> None:
    """The row is read under its lock: one that was read before may be another's by then."""

    def write_one() -> Any:
        with psycopg.connect(dsn, autocommit=True) as session:
            return write_batch(session, target, attempt(0), batches=[BATCH]).decision

    beside = Beside(write_one)
    with psycopg.connect(dsn) as fencing, psycopg.connect(dsn, autocommit=True) as looking:

        def is_waiting() -> bool:
            query = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            return bool((looking.execute(query).fetchone() or [0])[0])

        assert fence(fencing, ROW, epoch=2, nonce="n2") is not None
        beside.start()
        assert wait_until(is_waiting, seconds=30)
        fencing.commit()
        beside.join(60)
    assert ids(dsn) == Counter()
    assert beside.outcome == Refuse(Reason.EPOCH_FENCED)


def test_a_copy_of_a_task_ends_the_one_that_stands_still(
    dsn: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark's speculation has it: two attempts of one task at the same time."""
    monkeypatch.setattr(write, "LOCK_TIMEOUT_MS", 200)
    task = Task(dsn=lambda: dsn, target=target, attempt=attempt(0))

    def run() -> list[str]:
        return [answer["said"][0].as_py() for answer in task(with_end(BATCH))]

    with standing_at("copying", run) as first:
        assert run() == [Apply.__name__]
    assert ids(dsn) == Counter(IDS)
    assert isinstance(first.outcome, psycopg.OperationalError)
