"""`hf.Database` on real servers: lost answers, fences, and sessions that end in between."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest

from holdfast.ledger import Apply, LedgerRow, Reason, Refuse, Skip
from holdfast.sinks.database.dialect import Dialect
from holdfast.sinks.database.failures import DatabaseAwayError, DatabaseRefusedError
from lab.mariadb import MariaDB
from tests.spark.database_writers import Into, batches, numbered, once, without_spark

SERVERS = ["insert", "load", "sqlite"]


pytestmark = pytest.mark.sampled(8)


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    without_spark(monkeypatch)


@pytest.fixture(params=SERVERS)
def into(request: pytest.FixtureRequest, tmp_path: Path) -> Into:
    server = None if request.param == "sqlite" else request.getfixturevalue("mariadb")
    return Into.make(request.param, mariadb=server, directory=tmp_path).create()


@pytest.fixture
def on_server(mariadb: MariaDB, tmp_path: Path) -> Into:
    return Into.make("insert", mariadb=mariadb, directory=tmp_path).create()


def losing(monkeypatch: pytest.MonkeyPatch, lose: list[str]) -> None:
    """Lose commits on their way there, or the answers to them."""
    run = Dialect.run

    def lossy(self: Any, connection: Any, statement: str, *values: Any) -> int:
        how = lose.pop(0) if statement == "COMMIT" and lose else ""
        changed = 0 if how == "before" else run(self, connection, statement, *values)
        if how:
            connection.close()
            raise pymysql.err.OperationalError(2013, "Lost connection")
        return changed

    monkeypatch.setattr(Dialect, "run", lossy)


def test_a_commit_that_landed_is_recognised_and_nothing_is_duplicated(
    on_server: Into, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, lose = on_server.first(), list[str]()
    losing(monkeypatch, lose)
    for number in range(4):
        lose[:] = ["after"]
        assert writer.write(on_server.attempt(number), numbered(number)) == Skip()
        assert on_server.rows() == batches(number + 1)
    writer.close()


def test_a_commit_that_never_arrived_is_sent_again(
    on_server: Into, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, lose = on_server.first(), ["before", "before"]
    losing(monkeypatch, lose)
    assert writer.write(on_server.attempt(0), numbered(0)) == Apply()
    assert lose == []
    assert on_server.rows() == batches(1)
    writer.close()


def test_a_session_that_is_ended_within_the_transaction_is_replaced(on_server: Into) -> None:
    writer = on_server.first()
    ends = once(lambda: on_server.mariadb and on_server.mariadb.kill_sessions(on_server.database))
    assert writer.write(on_server.attempt(0), numbered(0), before_commit=ends) == Apply()
    assert on_server.rows() == batches(1)
    writer.close()


def test_a_driver_that_is_replaced_within_its_transaction_writes_nothing(on_server: Into) -> None:
    """The fence ends the session that has the row locked; what it has written is taken back."""
    writer = on_server.first()
    later: list[Any] = []
    hook = once(lambda: later.append(on_server.fence()))
    refused = writer.write(on_server.attempt(0), numbered(0), before_commit=hook)
    assert refused == Refuse(Reason.EPOCH_FENCED)
    assert on_server.rows() == batches(0)
    mine = on_server.attempt(0, epoch=2, nonce="n2")
    assert later[0].write(mine, numbered(0)) == Apply()
    assert on_server.rows() == batches(1)
    later[0].close()
    writer.close()


def test_a_killed_server_comes_back_and_the_batch_is_there_once(
    tmp_path: Path,
) -> None:
    with MariaDB() as server:
        into = Into.make("insert", mariadb=server, directory=tmp_path).create()
        writer = into.first()

        def kill_it() -> None:
            server.crash()
            server.start()

        for number in range(3):
            hook = once(kill_it) if number != 1 else once(lambda: None)
            assert (
                writer.write(into.attempt(number), numbered(number), before_commit=hook) == Apply()
            )
            assert into.rows() == batches(number + 1)
        writer.close()


def test_a_paused_driver_is_replaced_and_its_session_ended(on_server: Into) -> None:
    """Another process is stopped within its transaction, for ever as far as anybody knows."""
    on_server.first().close()
    child = os.fork()
    if child == 0:
        try:
            writer = on_server.start()
            stop = once(lambda: os.kill(os.getpid(), signal.SIGSTOP))
            found = writer.write(on_server.attempt(0), numbered(0), before_commit=stop)
            os._exit(0 if found == Refuse(Reason.EPOCH_FENCED) else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    second = on_server.fence()
    assert second.write(on_server.attempt(0, epoch=2, nonce="n2"), numbered(0)) == Apply()
    os.kill(child, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert second.write(on_server.attempt(1, epoch=2, nonce="n2"), numbered(1)) == Apply()
    assert on_server.rows() == batches(2)
    second.close()


def test_what_is_raised_before_the_commit_takes_everything_back(into: Into) -> None:
    writer = into.first()

    def refuse(_: int) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        writer.write(into.attempt(0), numbered(0), before_commit=refuse)
    assert into.rows() == batches(0)
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    assert into.rows() == batches(1)
    writer.close()


def test_a_file_that_somebody_else_writes_is_waited_for_and_then_refused(tmp_path: Path) -> None:
    into = Into.make("sqlite", mariadb=None, directory=tmp_path).create()
    into.url += "?busy_timeout=0"
    writer = into.first()
    with closing(sqlite3.connect(into.database.partition("?")[0])) as other:
        other.execute("BEGIN IMMEDIATE")
        row = writer.ledger.read("readings")
        assert isinstance(row, LedgerRow)
        with pytest.raises(DatabaseRefusedError) as refused:
            writer.ledger.fence(row, epoch=2, nonce="n2")
        assert refused.value.answer == "SQLITE_BUSY"
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    writer.close()


def test_a_commit_that_a_reader_holds_up_is_not_taken_for_done(tmp_path: Path) -> None:
    into = Into.make("sqlite", mariadb=None, directory=tmp_path).create()
    into.ask("PRAGMA journal_mode = DELETE")  # here readers hold up a COMMIT
    path, plain = into.database, into.url
    into.url += "?busy_timeout=0"
    writer, reader = into.first(), sqlite3.connect(path, isolation_level=None)
    steps = iter(["BEGIN", "COMMIT"])

    def read_then_end(_: int) -> None:
        if (step := next(steps, None)) is not None:
            reader.execute(step)
            reader.execute("SELECT count(*) FROM readings").fetchall()

    assert writer.write(into.attempt(0), numbered(0), before_commit=read_then_end) == Apply()
    assert next(steps, None) is None  # the first COMMIT was refused, and tried again
    writer.close()
    reader.close()
    into.url = plain
    assert into.rows() == batches(1)


SECRETS = [
    "mariadb://lab:S3cr@tPW@127.0.0.1:{port}/lab",
    "mariadb://lab:S3cretPW@127.0.0.1:{port}/lab",
    "mariadb://lab:S3cretPW@127.0.0.1:1/lab",
    "mariadb://S3cretPW/lab?x=S3cretPW",
    "jdbc:mariadb://127.0.0.1/lab?password=S3cretPW",
    "sqlite:////tmp/S3cretPW/x.db",
    "S3cretPW",
]


@pytest.fixture
def refused(request: pytest.FixtureRequest, mariadb: MariaDB) -> BaseException:
    into = Into(request.param.format(port=mariadb.port), mariadb)
    with pytest.raises(DatabaseAwayError) as found:
        into.start()
    return found.value


@pytest.mark.parametrize("refused", SECRETS, indirect=True)
def test_no_part_of_a_url_is_in_an_error(refused: BaseException) -> None:
    seen: BaseException | None = refused
    while seen is not None:
        assert "S3cr" not in str(seen)
        assert "tPW" not in str(seen)
        seen = seen.__cause__ or seen.__context__
