"""A driver that stands still inside its own fence must not keep the next one out."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

import psycopg
import pytest

from holdfast.sinks.postgres.fence import take
from holdfast.sinks.postgres.ledger_rows import fence, read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from lab import Postgres
from tests.ledger_rows import ROW


def test_a_fence_that_stands_still_in_its_transaction_is_ended(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.fence.TRIES", 2)
    dsn = postgres.create_database(f"fence_{uuid.uuid4().hex[:12]}")
    with (
        psycopg.connect(dsn, autocommit=True) as first,
        psycopg.connect(dsn, autocommit=True) as second,
    ):
        ensure_tables(first)
        replace_row(first, None, ROW, target="readings")
        inside, go_on = threading.Event(), threading.Event()

        def stand_still() -> None:
            fence(first, ROW, epoch=2, nonce="n2")
            inside.set()
            assert go_on.wait(60)

        halted = threading.Thread(target=_quietly, args=(first, stand_still))
        halted.start()
        try:
            assert inside.wait(60)
            take(second, ROW, lambda: fence(second, ROW, epoch=3, nonce="n3"))
        finally:
            go_on.set()
            halted.join()
        row = read_row(second, ROW.stream, ROW.sink)
    assert row is not None
    assert row.epoch == 3


def _quietly(connection: psycopg.Connection, change: Callable[[], None]) -> None:
    with suppress(psycopg.OperationalError):
        take(connection, ROW, change)
