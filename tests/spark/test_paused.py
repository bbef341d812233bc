"""Processes that are paused past their lease and resume: they change nothing more."""

from __future__ import annotations

import psycopg
import pytest

from holdfast import clock, points
from holdfast.record import take_lease, this_process
from holdfast.sinks.postgres import fence
from holdfast.storage.write import open_writer
from holdfast.streams.refusal import LeaseLostAtStartError
from holdfast.streams.start import start
from tests.ledger_rows import ROW
from tests.spark.file_stream import Stream


def test_a_start_that_resumes_after_its_lease_was_taken_starts_no_query(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a pause past its lease: a plan, which need not fence a sink, may be at work."""
    stream.run()
    stream.add(3)
    record = open_writer(str(stream.root / "_holdfast/readings"))
    now = clock.monotonic()

    def pause(point: str) -> None:
        if point == "G4":
            take_lease(record, this_process(), takeover=True)
            monkeypatch.setattr(clock, "monotonic", lambda: now + 60)

    points.listen(pause)
    try:
        with pytest.raises(LeaseLostAtStartError):
            start(stream.source, stream="readings", into=stream.sink(), root=str(stream.root))
    finally:
        points.listen(None)
    assert not (stream.checkpoint / "offsets/3").exists()
    assert stream.rows() == ["row 0", "row 1", "row 2"]


def test_a_plan_that_is_paused_within_its_transaction_does_not_lock_the_table(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its host may be gone: the server would wait for it for hours."""
    monkeypatch.setattr(fence, "IDLE_TIMEOUT_MS", 200)
    with psycopg.connect(database, autocommit=True) as paused, psycopg.connect(database) as other:
        paused.execute("CREATE TABLE readings (id bigint)")

        def pause() -> None:
            paused.execute("INSERT INTO readings VALUES (1)")
            paused.execute("LOCK TABLE readings IN ACCESS EXCLUSIVE MODE")
            other.execute("SET lock_timeout = '60s'")
            other.execute("LOCK TABLE readings IN ACCESS EXCLUSIVE MODE")

        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            fence.take(paused, ROW, pause)
        assert other.execute("SELECT id FROM readings").fetchall() == []
