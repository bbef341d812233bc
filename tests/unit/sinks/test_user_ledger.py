"""Plans of users' own sinks: what cannot be put back is refused, and nothing of it is changed."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from holdfast.ids import BatchId
from holdfast.ledger.output import CannotSettleError, EmptyOutput, RestoreOutput
from holdfast.ledger.row import LedgerRow
from holdfast.sinks.sink import Capability
from holdfast.sinks.user.ledger import UserLedgerStore
from tests.kinds.sqlite_sink import LEDGER, Sqlite, rows_in
from tests.ledger_rows import ROW

COPY = "holdfast.kept_0123456789ab"


@dataclass(frozen=True)
class Merged(Sqlite):
    """The same, by keys."""

    keys: tuple[str, ...] = ("value",)


def opened(sink: Sqlite) -> tuple[UserLedgerStore, LedgerRow]:
    """Return the ledger of a table with one row, which one batch has brought."""
    connection = sink.connect()
    connection.execute("CREATE TABLE readings (value)")
    connection.execute(LEDGER)
    ledger = UserLedgerStore(sink)
    row = ROW
    assert ledger.replace(None, row)
    return ledger, write(ledger, connection, row)


def write(ledger: UserLedgerStore, connection: sqlite3.Connection, row: LedgerRow) -> LedgerRow:
    with ledger.transaction():
        before = ledger.versions(row.stream).now()
        ledger.connection().execute("INSERT INTO readings VALUES (?)", (row.last_batch + 1,))
        after = replace(row, last_batch=BatchId(row.last_batch + 1))
        ledger.keep(after)
        ledger.versions(row.stream).add(after, before=before)
    connection.close()
    return after


def test_a_table_goes_back_to_the_version_of_a_batch_unless_rows_were_overwritten(
    tmp_path: Path,
) -> None:
    appended, row = opened(Sqlite(path=str(tmp_path / "a.db")))
    assert list(appended.batch_versions(row.stream)) == [-1, 0]
    merged, row = opened(Merged(path=str(tmp_path / "b.db")))
    assert dict(merged.batch_versions(row.stream)) == {}
    output = RestoreOutput(kept="0 0", aside=COPY)
    assert merged.find_obstacle(row, output)
    with pytest.raises(CannotSettleError):
        merged.settle(row, replace(row, generation=2), output)
    assert rows_in(Merged(path=str(tmp_path / "b.db"))) == [(0,)]


def test_a_table_with_rows_of_another_writer_is_not_emptied(tmp_path: Path) -> None:
    sink = Sqlite(path=str(tmp_path / "a.db"))
    ledger, row = opened(sink)
    assert ledger.find_obstacle(row, EmptyOutput(kept=COPY)) is None
    other = sink.connect()
    other.execute("INSERT INTO readings VALUES ('of another stream')")
    other.close()
    assert "another writer" in (ledger.find_obstacle(row, EmptyOutput(kept=COPY)) or "")
    with pytest.raises(CannotSettleError):
        ledger.settle(row, replace(row, generation=2), EmptyOutput(kept=COPY))
    assert rows_in(sink) == [(0,), ("of another stream",)]


def test_versions_that_cannot_be_read_lock_nobody_out(tmp_path: Path) -> None:
    sink = Sqlite(path=str(tmp_path / "a.db"))
    ledger, row = opened(sink)
    other = sink.connect()
    other.execute("UPDATE holdfast_ledger SET row = '{' WHERE key LIKE 'versions:%'")
    after = write(ledger, other, row)
    assert ledger.read(row.stream) == after
    assert ledger.since(row.stream, generation=row.generation).unclear


def test_a_commit_that_fails_leaves_no_transaction_in_which_the_batch_is_there(
    tmp_path: Path,
) -> None:
    sink = Sqlite(path=str(tmp_path / "a.db"))
    _, row = opened(sink)
    reader, connection = sink.connect(), sink.connect()
    connection.execute("PRAGMA busy_timeout = 0")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM readings").fetchall()

    def write_batch() -> None:
        with sink.transaction(connection):
            connection.execute("INSERT INTO readings VALUES ('of the batch')")
            sink.write_ledger(connection, "readings/readings", "after the batch")

    with pytest.raises(sqlite3.OperationalError, match="locked"):
        write_batch()
    reader.execute("COMMIT")
    assert not connection.in_transaction
    assert "after the batch" not in (sink.read_ledger(connection, "readings/readings") or "")
    assert sink.read_back(connection) == [(row.last_batch,)]


def test_a_sink_without_versions_is_there_though_its_row_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a reset would leave it out, and write everything into it again."""
    ledger, row = opened(Sqlite(path=str(tmp_path / "a.db")))
    monkeypatch.setattr(Sqlite, "capabilities", frozenset({Capability.SETTLE}))
    seen = ledger.table_version(row.stream)
    assert seen is not None
    assert not ledger.has_changed(row.stream, seen)
    ledger.connection().execute("DELETE FROM holdfast_ledger")
    assert ledger.settle(None, replace(row, generation=2), EmptyOutput(kept=COPY), seen=seen)
    assert rows_in(Sqlite(path=str(tmp_path / "a.db"))) == []
    (tmp_path / "a.db").unlink()
    assert UserLedgerStore(Sqlite(path=str(tmp_path / "a.db"))).table_version(row.stream) is None
