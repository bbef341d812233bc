"""`hf.Database`: what plans do to its rows, in the step that sets its ledger row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.ledger import NO_BATCH, Apply, LedgerRow
from holdfast.ledger.output import (
    COPY,
    CannotSettleError,
    EmptyOutput,
    ExchangeOutput,
    RestoreOutput,
)
from holdfast.ledger.store import Since
from holdfast.sinks.database.settle import Settling
from holdfast.sinks.database.writer import DatabaseWriter
from tests.spark.database_writers import STREAM, Into, batches, numbered, without_spark

pytestmark = pytest.mark.sampled(6)
KEPT, ASIDE = f"{COPY}test_1", f"{COPY}test_2"


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    without_spark(monkeypatch)


@pytest.fixture(params=["mariadb", "sqlite"])
def into(request: pytest.FixtureRequest, tmp_path: Path) -> Into:
    server = None if request.param == "sqlite" else request.getfixturevalue("mariadb")
    return Into.make(request.param, mariadb=server, directory=tmp_path).create()


@pytest.fixture
def writer(into: Into) -> DatabaseWriter:
    found = into.first()
    for number in range(2):
        assert found.write(into.attempt(number), numbered(number)) == Apply()
    return found


def row_of(writer: DatabaseWriter) -> LedgerRow:
    found = writer.ledger.read(STREAM)
    assert isinstance(found, LedgerRow)
    return found


def reset(row: LedgerRow, *, epoch: int) -> LedgerRow:
    """Return the row of the next generation, which begins anew."""
    new: dict[str, Any] = {"last_batch": NO_BATCH, "digest": None, "end_offsets": "{}"}
    return replace(row, generation=row.generation + 1, epoch=epoch, nonce=f"n{epoch}", **new)


def test_a_reset_and_its_undo_give_the_same_rows_back(into: Into, writer: DatabaseWriter) -> None:
    ledger, before = writer.ledger, row_of(writer)
    seen = ledger.table_version(STREAM)
    new = reset(before, epoch=2)
    assert ledger.find_obstacle(new, EmptyOutput(kept=KEPT)) is None
    assert not ledger.settle(replace(before, digest="x"), new, EmptyOutput(kept=KEPT))
    assert into.rows() == batches(2)
    assert ledger.settle(before, new, EmptyOutput(kept=KEPT), seen=seen)
    assert row_of(writer) == new
    assert not into.rows()
    assert ledger.since(STREAM, generation=2) == Since(own_rows=0)
    back = replace(before, generation=3, epoch=3, nonce="n3")
    output = ExchangeOutput(generation=2, kept=KEPT, aside=ASIDE, rows=0)
    assert ledger.settle(new, back, output)
    assert into.rows() == batches(2)
    assert ledger.count_rows() == 40
    writer.close()


def test_rows_that_came_since_cannot_be_told_apart(into: Into, writer: DatabaseWriter) -> None:
    ledger, before = writer.ledger, row_of(writer)
    assert ledger.settle(before, reset(before, epoch=2), EmptyOutput(kept=KEPT))
    attempt = into.attempt(0, generation=2, epoch=2, nonce="n2")
    assert writer.write(attempt, numbered(0)) == Apply()
    assert ledger.since(STREAM, generation=2).unclear
    output = ExchangeOutput(generation=2, kept=KEPT, aside=ASIDE, rows=0)
    back = replace(before, generation=3, epoch=3, nonce="n3")
    assert ledger.find_obstacle(back, output)
    with pytest.raises(CannotSettleError):
        ledger.settle(row_of(writer), back, output)
    assert into.rows() == batches(1)
    restore = RestoreOutput(kept=KEPT, aside=ASIDE)
    assert ledger.settle(row_of(writer), back, restore)
    assert into.rows() == batches(2)
    writer.close()


def test_rows_that_changed_since_the_plan_are_left_alone(
    into: Into, writer: DatabaseWriter
) -> None:
    ledger, before = writer.ledger, row_of(writer)
    seen = ledger.table_version(STREAM)
    into.ask("UPDATE readings SET name = 'x' WHERE id = 3")
    assert ledger.has_changed(STREAM, seen)
    with pytest.raises(CannotSettleError, match="changed"):
        ledger.settle(before, reset(before, epoch=2), EmptyOutput(kept=KEPT), seen=seen)
    assert into.rows().total() == 40
    assert row_of(writer) == before
    assert ledger.settle(before, reset(before, epoch=2), EmptyOutput(kept=KEPT))
    assert not into.rows()
    writer.close()


@pytest.mark.parametrize("kept", ["readings", f"{COPY}x; DROP TABLE readings", "holdfast_ledger"])
def test_only_a_copy_is_a_copy(into: Into, writer: DatabaseWriter, kept: str) -> None:
    before = row_of(writer)
    with pytest.raises(CannotSettleError):
        writer.ledger.settle(before, reset(before, epoch=2), EmptyOutput(kept=kept))
    output = RestoreOutput(kept=kept, aside=ASIDE)
    with pytest.raises(CannotSettleError):
        writer.ledger.settle(before, reset(before, epoch=2), output)
    assert into.rows() == batches(2)
    writer.close()


@pytest.mark.parametrize("statement", ["ADD x int NOT NULL", "DROP COLUMN name"])
def test_rows_that_no_longer_fit_are_not_put_back(
    into: Into, writer: DatabaseWriter, statement: str
) -> None:
    ledger, before = writer.ledger, row_of(writer)
    assert ledger.settle(before, reset(before, epoch=2), EmptyOutput(kept=KEPT))
    if into.dialect == "sqlite":
        statement = statement.replace("int NOT NULL", "int NOT NULL DEFAULT 0")
    into.ask(f"ALTER TABLE readings {statement}")
    back = replace(before, generation=3, epoch=3, nonce="n3")
    output = ExchangeOutput(generation=2, kept=KEPT, aside=ASIDE, rows=0)
    if "DEFAULT" in statement:
        assert ledger.settle(row_of(writer), back, output)
        assert into.rows().total() == 40
    else:
        with pytest.raises(CannotSettleError):
            ledger.settle(row_of(writer), back, output)
    writer.close()


def test_rows_of_another_stream_are_not_taken_away(writer: DatabaseWriter) -> None:
    ledger, before = writer.ledger, row_of(writer)
    assert ledger.replace(None, replace(before, stream="other", sink="readings"))
    assert ledger.other_streams(STREAM) == ("other",)
    obstacle = ledger.find_obstacle(reset(before, epoch=2), EmptyOutput(kept=KEPT))
    assert obstacle is not None
    assert "other" in obstacle
    writer.close()


def test_what_is_there_is_read_at_one_moment(into: Into, writer: DatabaseWriter) -> None:
    session = writer.ledger.session
    dialect, connection = session.dialect, session.connection()
    with dialect.transaction(connection, is_reading=True):
        first = writer.ledger.kept(STREAM)
        into.ask("INSERT INTO readings VALUES (-1, 'late')")
        rows = [
            row for chunk in dialect.rows(connection, "SELECT * FROM readings") for row in chunk
        ]
    assert sorted(rows) == sorted(batches(2))
    assert first is not None
    assert into.rows().total() == 41
    writer.close()


KEYED = "id bigint primary key, name varchar(50) {}"
CHILD = (
    "CREATE TABLE child (id bigint, parent bigint, FOREIGN KEY (parent) REFERENCES readings(id) "
    "ON DELETE {})"
)
TRIGGER = "CREATE TRIGGER watching AFTER {} ON readings FOR EACH ROW {}"


def keyed(into: Into) -> DatabaseWriter:
    """Return the writer of one batch into a table that others can refer to."""
    into.ask("DROP TABLE readings")
    into.create(KEYED.format("CHARACTER SET utf8mb4" if into.dialect == "mariadb" else ""))
    writer = into.first()
    assert writer.write(into.attempt(0), numbered(0)) == Apply()
    return writer


@pytest.mark.parametrize("what", ["CASCADE", "SET NULL", "INSERT", "DELETE"])
def test_rows_whose_move_would_change_others_are_not_taken(into: Into, what: str) -> None:
    writer = keyed(into)
    into.ask("CREATE TABLE totals (n bigint)")
    into.ask("INSERT INTO totals VALUES (1), (2)")
    if what in ("INSERT", "DELETE"):
        act = "DELETE FROM totals"
        into.ask(TRIGGER.format(what, act if into.dialect == "mariadb" else f"BEGIN {act}; END"))
    else:
        into.ask(CHILD.format(what))
        into.ask("INSERT INTO child VALUES (10, 1), (11, 2)")
    before = row_of(writer)
    new, output = reset(before, epoch=2), EmptyOutput(kept=KEPT)
    obstacle = writer.ledger.find_obstacle(new, output)
    assert obstacle is not None
    assert ("watching" if what in ("INSERT", "DELETE") else "child") in obstacle
    with pytest.raises(CannotSettleError):
        writer.ledger.settle(before, new, output)
    assert into.rows() == batches(1)
    assert row_of(writer) == before
    assert into.ask("SELECT count(*) FROM totals") == [(2,)]
    writer.close()


def test_what_was_made_since_the_plan_is_seen_within_the_step(
    into: Into, writer: DatabaseWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = row_of(writer)

    def then_trigger(self: Settling, new: LedgerRow) -> None:
        prepare(self, new)
        act = "DELETE FROM other" if into.dialect == "mariadb" else "BEGIN DELETE FROM other; END"
        into.ask("CREATE TABLE other (n bigint)")
        into.ask(TRIGGER.format("DELETE", act))

    prepare = Settling.prepare
    monkeypatch.setattr(Settling, "prepare", then_trigger)
    with pytest.raises(CannotSettleError, match="watching"):
        writer.ledger.settle(before, reset(before, epoch=2), EmptyOutput(kept=KEPT))
    assert into.rows() == batches(2)
    assert row_of(writer) == before
    writer.close()


def test_a_reference_that_only_refuses_is_no_obstacle(into: Into) -> None:
    writer = keyed(into)
    into.ask(CHILD.format("RESTRICT"))
    before = row_of(writer)
    assert writer.ledger.find_obstacle(reset(before, epoch=2), EmptyOutput(kept=KEPT)) is None
    assert writer.ledger.settle(before, reset(before, epoch=2), EmptyOutput(kept=KEPT))
    assert not into.rows()
    writer.close()
