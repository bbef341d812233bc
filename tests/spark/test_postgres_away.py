"""A server that is away for a while: the batch waits, asks the ledger, and arrives once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from holdfast.ledger import Apply
from holdfast.sinks.postgres import connect
from holdfast.sinks.postgres.connect import ConnectError, Reason
from holdfast.sinks.postgres.session import Session
from holdfast.sinks.postgres.writer import PostgresWriter
from tests.ledger_rows import attempt
from tests.spark.test_postgres_sink import Batch, ids, sink, without_spark
from tests.stand_ins import stand_in

__all__ = ["sink", "without_spark"]


def away(times: int, reason: Reason, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let so many connections fail; return what was waited for."""
    connection, failures, waited = Session.connection, [1] * times, list[str]()

    def sometimes(session: Session) -> Any:
        if failures:
            failures.pop()
            raise ConnectError("env:DSN", reason)
        return connection(session)

    monkeypatch.setattr(Session, "connection", sometimes)
    monkeypatch.setattr(time, "sleep", lambda seconds: waited.append(f"{seconds:.1f}"))
    return waited


def test_a_server_that_is_away_is_waited_for(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch, *, database: str
) -> None:
    sink.close()
    waited = away(3, connect.TIMEOUT, monkeypatch)
    assert sink.write(attempt(0), stand_in(Batch([1]))) == Apply()
    assert waited == ["0.2", "0.4", "0.8"]
    assert ids(database) == [1]


def test_a_server_is_waited_for_with_an_end(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.close()
    now = iter(range(0, 10_000, 25))
    monkeypatch.setattr("holdfast.clock.monotonic", lambda: float(next(now)))
    waited = away(100, connect.TIMEOUT, monkeypatch)
    with pytest.raises(ConnectError):
        sink.write(attempt(0), stand_in(Batch([1])))
    assert waited == ["0.2", "0.4", "0.8"], "60 seconds are over"


def test_a_password_that_is_wrong_is_not_waited_for(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink.close()
    waited = away(100, connect.UNKNOWN, monkeypatch)
    with pytest.raises(ConnectError):
        sink.write(attempt(0), stand_in(Batch([1])))
    assert waited == []


def test_who_is_being_stopped_does_not_wait_for_a_server(
    sink: PostgresWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: int) -> None:
        raise RuntimeError("stopped")

    sink.close()
    waited = away(100, connect.TIMEOUT, monkeypatch)
    with pytest.raises(RuntimeError, match="stopped"):
        sink.write(attempt(0), stand_in(Batch([1])), before_commit=stopped)
    assert waited == []
