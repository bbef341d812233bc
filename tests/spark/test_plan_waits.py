"""`holdfast plan` does not wait for a locked PostgreSQL table for ever, and says who has it."""

from __future__ import annotations

import psycopg
import pytest

from holdfast.plan.world import look_at_sink
from holdfast.record.contracts import SinkContract
from holdfast.sinks.postgres import examine
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from tests.ledger_rows import ROW

DSN = "HOLDFAST_LOCKED_DSN"


def test_a_locked_table_is_given_up(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DSN, database)
    monkeypatch.setattr(examine, "LOCK_TIMEOUT_MS", 100)
    secret = f"env:{DSN}"
    contract = SinkContract(
        kind="postgres", place=f"postgresql:readings@{secret}", label="readings", secret=secret
    )
    with psycopg.connect(database) as connection:
        ensure_tables(connection)
        connection.execute("CREATE TABLE readings (id bigint)")
        connection.commit()
        assert look_at_sink(contract, ROW.stream, {}).rows == 0
        connection.execute("LOCK TABLE readings IN ACCESS EXCLUSIVE MODE")
        found = look_at_sink(contract, ROW.stream, {})
    assert "55P03" in found.unreadable
    assert "holds a lock on the table" in found.unreadable
    assert found.rows is None
