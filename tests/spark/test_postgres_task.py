"""The task that writes a large batch, here on a real PostgreSQL: whom it waits for, and ends."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.ledger import Apply, Decision, Reason, Refuse, Skip
from holdfast.sinks.postgres import task as tasks
from holdfast.sinks.postgres.fence import look_at_blockers, session_name
from holdfast.sinks.postgres.ledger_rows import fence, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.task import (
    RAISED,
    PartialBatchError,
    RowsToTheEnd,
    Task,
    find_missing,
    read_answer,
)
from holdfast.sinks.postgres.write import write_batch
from tests.ledger_rows import ROW, attempt
from tests.whole_batches import marked, with_end

SCHEMA = pa.schema([("id", pa.int64())])
QUICK_MS = 40


def rows(*ids: int) -> Any:
    return pa.record_batch([pa.array(ids, pa.int64())], schema=SCHEMA)


@pytest.fixture
def connection(database: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        connection.execute("CREATE TABLE readings (id bigint)")
        assert replace_row(connection, None, ROW, target="readings")
        yield connection


@pytest.fixture
def task(connection: psycopg.Connection[Any], database: str) -> Task:
    target = check_table(connection, "readings", SCHEMA)
    return Task(dsn=lambda: database, target=target, attempt=attempt(0))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.write.LOCK_TIMEOUT_MS", QUICK_MS)


def ids(connection: psycopg.Connection[Any]) -> list[int]:
    return [row[0] for row in connection.execute("SELECT id FROM readings ORDER BY id")]


def run(task: Task, batches: Iterator[Any] | None = None) -> str:
    (said,) = task(with_end(rows(1, 2), rows(3)) if batches is None else batches)
    (answer,) = said.column("said").to_pylist()
    return str(answer)


def test_a_task_says_what_it_decided_and_reads_its_input_to_the_end(
    task: Task, connection: psycopg.Connection[Any]
) -> None:
    for said in ("Apply", "Skip"):
        batches = with_end(rows(1, 2), rows(3))
        assert run(task, batches) == said
        assert list(batches) == []
    assert fence(connection, ROW, epoch=2, nonce="n2") is not None
    assert run(task) == "EPOCH_FENCED"
    assert ids(connection) == [1, 2, 3]


def test_a_session_of_a_task_keeps_nothing_that_a_proxy_would_mix_up(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    connect = psycopg.connect

    def noted(*address: Any, **options: Any) -> Any:
        given.append(options)
        return connect(*address, **options)

    monkeypatch.setattr(psycopg, "connect", noted)
    assert run(task) == "Apply"
    (options,) = given
    assert options.items() >= {"autocommit": True, "prepare_threshold": None}.items()


ANSWERS: dict[str, Decision] = {
    "Apply": Apply(),
    "Skip": Skip(),
    "GAP": Refuse(Reason.GAP),
    "EPOCH_FENCED": Refuse(Reason.EPOCH_FENCED),
}


@pytest.mark.parametrize(("said", "expected"), ANSWERS.items())
def test_what_a_task_says_is_understood(said: str, expected: Decision) -> None:
    assert read_answer(said) == expected


NOT_WHOLE = {
    "no end": [marked(rows(1, 2), [False, False])],
    "nothing": [],
    "rows after the end": [*with_end(rows(1, 2)), marked(rows(3), [False])],
    "a row after the end, in its record batch": [marked(rows(1, 0, 2), [False, True, False])],
    "two ends": [*with_end(rows(1, 2)), *with_end(rows(3))],
}


@pytest.mark.parametrize("batches", NOT_WHOLE.values(), ids=list(NOT_WHOLE))
def test_what_is_not_known_to_be_whole_is_not_committed(
    task: Task, connection: psycopg.Connection[Any], batches: list[Any]
) -> None:
    with pytest.raises(PartialBatchError):
        run(task, iter(batches))
    assert ids(connection) == []


def test_a_batch_without_rows_is_whole_with_its_end(
    task: Task, connection: psycopg.Connection[Any]
) -> None:
    assert run(task, iter([marked(rows(0), [True])])) == "Apply"
    assert ids(connection) == []


def test_what_was_read_in_part_is_not_read_again() -> None:
    """A try that waited for a lock in the middle of its rows would commit the second half."""
    whole = RowsToTheEnd(with_end(rows(1), rows(2)))
    assert next(whole.read()).to_pydict() == {"id": [1]}
    with pytest.raises(PartialBatchError, match="read before"):
        list(whole.read())
    untouched = RowsToTheEnd(with_end(rows(1)))
    untouched.read()
    assert [each.to_pydict() for each in untouched.read()] == [{"id": [1]}]


@contextmanager
def holding(task: Task, database: str) -> Iterator[psycopg.Connection[Any]]:
    """Give a session of another attempt of the task, which holds the row."""
    name = session_name(task.attempt.stream, task.attempt.sink)
    with psycopg.connect(database, application_name=name) as other:
        other.execute("SELECT * FROM holdfast.ledger FOR UPDATE")
        yield other


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, Callable[[], object]]]:
    """What happens after the n-th look at who holds the row, the first being 1."""
    planned: dict[int, Callable[[], object]] = {}
    seen: list[Any] = []
    look = look_at_blockers

    def look_and_act(*given: Any) -> Any:
        seen.append(look(*given))
        planned.pop(len(seen), lambda: None)()
        return seen[-1]

    monkeypatch.setattr(tasks, "look_at_blockers", look_and_act)
    yield planned
    assert not planned, "it did not look so often"


def is_open(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.usefixtures("quick")
def test_another_attempt_that_stands_still_is_ended_at_the_second_look(
    task: Task,
    connection: psycopg.Connection[Any],
    *,
    database: str,
    looks: dict[int, Callable[[], object]],
) -> None:
    lived: list[bool] = []
    with holding(task, database) as zombie:
        pid = zombie.info.backend_pid
        alive = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"

        def look() -> None:
            found = connection.execute(alive, (pid,)).fetchone()
            lived.append(bool(found and found[0]))

        looks[1] = looks[2] = look
        assert run(task) == "Apply"
        assert not is_open(zombie)
    assert lived == [True, True]
    assert ids(connection) == [1, 2, 3]


@pytest.mark.usefixtures("quick")
def test_attempts_that_wait_do_not_take_each_other_for_one_that_is_at_work(
    task: Task, connection: psycopg.Connection[Any], *, database: str
) -> None:
    """As after a lost shuffle: Spark has given up one attempt, whose Python goes on to wait."""
    with holding(task, database) as zombie, ThreadPoolExecutor(3) as attempts:
        said = sorted(attempts.map(lambda _: run(task), range(3)))
        assert not is_open(zombie)
    assert said == ["Apply", "Skip", "Skip"]
    assert ids(connection) == [1, 2, 3]


@pytest.mark.usefixtures("quick")
def test_another_attempt_that_waits_for_another_lock_has_the_row_and_is_waited_for(
    task: Task,
    connection: psycopg.Connection[Any],
    *,
    database: str,
    looks: dict[int, Callable[[], object]],
) -> None:
    """Its COPY can wait for a row of the table: nobody else than it has the ledger row."""
    connection.execute("CREATE TABLE others (id bigint)")
    with psycopg.connect(database) as stranger, holding(task, database) as busy:
        stranger.execute("LOCK TABLE others")
        blocked = threading.Thread(target=lambda: busy.execute("LOCK TABLE others"))
        blocked.start()

        def let_go() -> None:
            stranger.commit()
            blocked.join()
            busy.commit()

        looks[4] = let_go
        assert run(task) == "Apply"
        assert is_open(busy)


@pytest.mark.usefixtures("quick")
def test_attempts_that_wait_for_somebody_else_do_not_wait_for_ever(
    task: Task, connection: psycopg.Connection[Any], database: str
) -> None:
    with psycopg.connect(database) as stranger, ThreadPoolExecutor(2) as attempts:
        stranger.execute("SELECT * FROM holdfast.ledger FOR UPDATE")
        said = list(attempts.map(lambda _: run(task), range(2)))
        assert is_open(stranger)
    assert all(each.startswith(RAISED) for each in said)
    assert ids(connection) == []


@pytest.mark.usefixtures("quick")
def test_another_attempt_that_is_at_work_is_waited_for(
    task: Task, *, database: str, looks: dict[int, Callable[[], object]]
) -> None:
    with holding(task, database) as busy:
        for look in range(1, 5):
            looks[look] = lambda: busy.execute("SELECT 1")
        looks[5] = busy.commit
        assert run(task) == "Apply"
        assert is_open(busy)


@pytest.mark.usefixtures("quick")
def test_another_attempt_that_the_server_works_for_is_waited_for(
    task: Task, *, database: str, looks: dict[int, Callable[[], object]]
) -> None:
    """It looks the same at two looks, and does not wait for its client."""
    with holding(task, database) as busy:
        sleeping = threading.Thread(target=lambda: busy.execute("SELECT pg_sleep(0.7)"))
        sleeping.start()

        def let_go() -> None:
            sleeping.join()
            busy.commit()

        looks[3] = let_go
        assert run(task) == "Apply"
        assert is_open(busy)


@pytest.mark.usefixtures("quick")
def test_who_finds_its_batch_there_while_it_waits_says_so(
    task: Task, *, database: str, looks: dict[int, Callable[[], object]]
) -> None:
    with holding(task, database) as zombie:

        def commit_and_hold() -> None:
            zombie.commit()
            zombie.autocommit = True
            write_batch(zombie, task.target, task.attempt, batches=[rows(1, 2, 3)])
            zombie.autocommit = False
            zombie.execute("SELECT * FROM holdfast.ledger FOR UPDATE")

        looks[1] = commit_and_hold
        batches = with_end(rows(1, 2), rows(3))
        assert run(task, batches) == "Skip"
        assert list(batches) == []
        assert is_open(zombie)


@pytest.mark.usefixtures("quick")
def test_who_was_replaced_while_it_waits_ends_nobody(
    task: Task, *, database: str, looks: dict[int, Callable[[], object]]
) -> None:
    with holding(task, database) as newer:

        def take_over() -> None:
            fence(newer, ROW, epoch=2, nonce="n2")
            newer.commit()
            newer.execute("SELECT * FROM holdfast.ledger FOR UPDATE")

        looks[1] = take_over
        assert run(task) == "EPOCH_FENCED"
        assert is_open(newer)


def test_what_an_executor_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_missing(lambda: "dsn") == []
    assert find_missing("env:NOT_SET_ANYWHERE") == [
        "the DSN (The environment variable NOT_SET_ANYWHERE, which holds the DSN, is not set.)"
    ]
    lacking = {"pyarrow", "psycopg"}
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in lacking else find_spec(name)
    )
    assert find_missing(lambda: "dsn") == [
        "the Python module pyarrow",
        "the Python module psycopg",
    ]
