"""The TCP proxy breaks a connection at a named request, on a real PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from holdfast.drills.kill import Driver
from holdfast.drills.kill.waiting import wait_until
from lab import Postgres
from lab.faults.tcp_proxy import TcpProxy, TcpRequest


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[TcpProxy]:
    with TcpProxy(postgres.port) as running:
        yield running


@pytest.fixture
def table(database: str) -> str:
    with psycopg.connect(database) as connection:
        connection.execute("create table t (v int)")
    return database


def insert(dsn: str, value: int) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("insert into t values (%s)", (value,))


def through(proxy: TcpProxy, dsn: str, postgres: Postgres) -> str:
    return dsn.replace(f"port={postgres.port}", f"port={proxy.port}")


def values(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return sorted(value for (value,) in connection.execute("select v from t"))


def test_without_a_fault_everything_passes(proxy: TcpProxy, table: str, postgres: Postgres) -> None:
    insert(through(proxy, table, postgres), 1)
    assert values(table) == [1]


def test_a_swallowed_answer_breaks_the_client_after_the_commit_landed(
    proxy: TcpProxy, table: str, postgres: Postgres
) -> None:
    swallowed = proxy.at(b"COMMIT", "swallow")
    with pytest.raises(psycopg.OperationalError):
        insert(through(proxy, table, postgres), 1)
    swallowed.wait()
    assert values(table) == [1]


def test_a_cut_breaks_the_client_before_the_commit_lands(
    proxy: TcpProxy, table: str, postgres: Postgres
) -> None:
    cut = proxy.at(b"COMMIT", "cut")
    with pytest.raises(psycopg.OperationalError):
        insert(through(proxy, table, postgres), 1)
    cut.wait()
    assert values(table) == []


def test_the_fault_comes_at_the_nth_request_and_only_once(
    proxy: TcpProxy, table: str, postgres: Postgres
) -> None:
    proxy.at(b"COMMIT", "cut", nth=2)
    dsn = through(proxy, table, postgres)
    insert(dsn, 1)
    with pytest.raises(psycopg.OperationalError):
        insert(dsn, 2)
    insert(dsn, 3)
    assert values(table) == [1, 3]


def test_a_held_commit_lands_when_it_is_released(
    proxy: TcpProxy, table: str, postgres: Postgres
) -> None:
    held = proxy.at(b"COMMIT", "hold")
    writer = threading.Thread(target=insert, args=(through(proxy, table, postgres), 1))
    writer.start()
    held.wait()
    assert values(table) == []
    proxy.release()
    writer.join(30)
    assert values(table) == [1]


def test_a_request_split_over_two_packets_is_still_seen_and_counted_once(
    proxy: TcpProxy,
) -> None:
    proxy.at(b"COMMIT", "cut", nth=2)
    assert proxy._due(b"COMM", 4) is None
    assert proxy._due(b"COMMIT", 2) is None  # the first, complete only now
    assert proxy._due(b"COMMIT;", 1) is None  # seen before, not a second one
    assert proxy._due(b"COMMIT;COMMIT", 6) is not None


def test_a_fault_that_does_not_happen_is_an_error_and_not_a_pass(proxy: TcpProxy) -> None:
    with pytest.raises(TimeoutError, match="cut at COMMIT:1"):
        proxy.at(b"COMMIT", "cut").wait(seconds=0.1)


def test_a_kept_answer_comes_when_it_is_released(
    proxy: TcpProxy, table: str, postgres: Postgres
) -> None:
    kept = proxy.at(b"COMMIT", "keep")
    writer = threading.Thread(target=insert, args=(through(proxy, table, postgres), 1))
    writer.start()
    kept.wait()
    assert values(table) == [1]  # the server has committed, and the client does not know
    assert writer.is_alive()
    proxy.release()
    writer.join(60)
    assert not writer.is_alive()


INSERTS = """
import sys
import psycopg
with psycopg.connect(sys.argv[1]) as connection:
    connection.execute("insert into t values (1)")
"""


@pytest.mark.parametrize(
    ("point", "landed"),
    [
        (TcpRequest("before", b"insert into"), []),
        (TcpRequest("before", b"COMMIT"), [1]),  # it goes on when its driver is gone
        (TcpRequest("after", b"COMMIT"), [1]),
    ],
    ids=str,
)
def test_it_strikes_a_driver_at_what_that_sends(
    proxy: TcpProxy,
    table: str,
    postgres: Postgres,
    *,
    tmp_path: Path,
    point: TcpRequest,
    landed: list[int],
) -> None:
    program = tmp_path / "program.py"
    program.write_text(INSERTS)
    command = [str(program), through(proxy, table, postgres)]
    driver = Driver(command, environment={}, directory=tmp_path / "runs", striker=proxy)
    ended = driver.run_until_killed(point)
    assert ended.fired == str(point)
    assert wait_until(lambda: values(table) == landed, seconds=10)
