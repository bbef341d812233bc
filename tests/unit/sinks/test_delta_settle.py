"""What a plan finds in the log of a Delta table, and with what it brings the table to a state."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import DataType, IntegerType, LongType, StringType, StructType

from holdfast.ids import BatchId
from holdfast.ledger.output import CannotSettleError, EmptyOutput, RestoreOutput
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import Since
from holdfast.sinks.delta.commit import Identity
from holdfast.sinks.delta.commit_notes import encode_row
from holdfast.sinks.delta.contents import _row_at
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.delta.log_ledger import app_id
from holdfast.sinks.delta.target import Target
from holdfast.storage.location import parse_location
from tests.stand_ins import stand_in
from tests.unit.sinks.delta_commits import NOTHING, ROW, DeltaTable, table

__all__ = ["table"]
SECOND = replace(ROW, generation=2, epoch=2, nonce="n2")
BY_HAND = "version {} (WRITE) was committed by another writer"


def put(table: DeltaTable, row: LedgerRow | None, *, adds: str | None = None) -> int:
    """Write a commit of a row, or of somebody else."""
    lines: list[dict[str, Any]] = [{"commitInfo": {"operation": "WRITE"}}]
    if row is not None:
        lines[0]["commitInfo"]["userMetadata"] = encode_row(row)
        own = {"appId": app_id(row.stream, row.sink), "version": len(table.log.files)}
        lines.append({"txn": own})
    return table.put(*lines, *([{"add": {"path": adds}}] if adds else []))


def ledger_of(table: DeltaTable) -> DeltaLedgerStore:
    return table.sink().ledger


def test_what_came_since_a_generation_was_opened_is_told_by_whose_it_is(table: DeltaTable) -> None:
    put(table, ROW, adds="a")
    put(table, SECOND)
    assert ledger_of(table).since("readings", generation=2) == Since(own_rows=0)
    others = BY_HAND.format(put(table, None, adds="b"))
    found = ledger_of(table).since("readings", generation=2)
    assert found == Since(own_rows=0, others=(others,))
    put(table, replace(SECOND, last_batch=BatchId(0)), adds="c")
    found = ledger_of(table).since("readings", generation=2)
    assert (found.own_rows, found.others) == (None, (others,))
    assert "Delta does not know whose a row is" in found.unclear
    assert "does not reach back" in ledger_of(table).since("readings", generation=3).unclear


def test_the_other_streams_of_a_table_are_named(table: DeltaTable) -> None:
    put(table, ROW)
    assert ledger_of(table).other_streams("readings") == ()
    put(table, replace(ROW, stream="alerts"))
    assert ledger_of(table).other_streams("readings") == ("alerts",)


def test_a_row_is_read_as_of_the_version_of_the_rows(table: DeltaTable) -> None:
    store = ledger_of(table)
    assert _row_at(store, "readings", 0) is None
    first = put(table, ROW)
    assert _row_at(ledger_of(table), "readings", first) == ROW
    put(table, replace(ROW, stream="alerts"))
    put(table, SECOND)
    assert _row_at(ledger_of(table), "readings", first + 1) == ROW
    assert _row_at(ledger_of(table), "readings", first + 2) == SECOND


def columns(**kinds: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    return {"metaData": {"id": "t1", "schemaString": json.dumps({"fields": fields})}}


def array_of(element: str, *, contains_null: bool) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": contains_null}


@pytest.mark.parametrize(
    ("now", "is_fit"),
    [
        (array_of("long", contains_null=False), True),
        (array_of("long", contains_null=True), True),
        (array_of("integer", contains_null=False), False),
        ("string", False),
    ],
)
def test_kept_rows_come_back_into_columns_that_may_now_be_null_and_no_others(
    table: DeltaTable, now: Any, *, is_fit: bool
) -> None:
    kept = table.put(columns(id="long", v=array_of("long", contains_null=False)))
    put(table, ROW)
    table.put(columns(id="long", v=now))
    output = RestoreOutput(kept=str(kept), aside="3")
    found = ledger_of(table).find_obstacle(SECOND, output)
    assert (found is None) == is_fit
    assert is_fit or "The column v of the Delta table /lake/gold has another type" in str(found)


class Column:
    """A column of Spark that keeps what was done to it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def cast(self, kind: DataType) -> Column:
        return Column(f"{self.text}:{kind.simpleString()}")

    def alias(self, name: str) -> str:
        return f"{self.text} {name}"


class Frame:
    """A table, or the rows of one of its versions."""

    def __init__(self, **kinds: DataType) -> None:
        self.schema = StructType()
        for name, kind in kinds.items():
            self.schema.add(name, kind)
        self.columns = self.schema.names

    def limit(self, rows: int) -> Any:
        return SimpleNamespace(select=lambda *_: NOTHING) if rows == 0 else None

    def select(self, *chosen: str) -> Any:
        return list(chosen)


class Versions:
    """A session that reads versions of the table at its location."""

    def __init__(self, table: Frame, versions: dict[tuple[str, int], Frame]) -> None:
        self.read = self
        self._table, self._versions = table, versions
        self._asked = -1

    def table(self, name: str) -> Frame:
        assert name == "delta.`/lake/gold`"
        return self._table

    def format(self, name: str) -> Versions:
        assert name == "delta"
        return self

    def option(self, name: str, version: int) -> Versions:
        assert name == "versionAsOf"
        self._asked = version
        return self

    def load(self, location: str) -> Frame:
        return self._versions[location, self._asked]


@pytest.fixture
def overwritten(table: DeltaTable, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What takes the place of all rows."""
    found: list[Any] = []

    def overwrite(rows: Any, target: Target, identity: Identity) -> None:
        assert target.reader is table.log
        table.commit(NOTHING, identity)
        found.append(rows)

    functions: dict[str, Callable[[Any], Column]] = {
        "col": Column,
        "lit": lambda value: Column(str(value)),
    }
    for name, function in functions.items():
        monkeypatch.setattr(f"pyspark.sql.functions.{name}", function)
    monkeypatch.setattr("holdfast.sinks.delta.settle.overwrite", overwrite)
    table.log.location = parse_location("/lake/gold")
    return found


def settling(table: DeltaTable, now: Frame, then: Frame) -> DeltaLedgerStore:
    store = ledger_of(table)
    store._spark = stand_in(Versions(now, {("/lake/gold", 0): then}))
    return store


def test_a_table_is_emptied_in_the_commit_that_sets_its_row(
    table: DeltaTable, overwritten: list[Any]
) -> None:
    store = settling(table, Frame(id=LongType()), Frame())
    assert store.settle(None, ROW, EmptyOutput(kept="0"))
    assert len(overwritten) == 1
    assert ledger_of(table).read("readings") == ROW
    assert not store.settle(SECOND, SECOND, EmptyOutput(kept="0")), "another row is there"
    assert len(overwritten) == 1


def test_an_older_version_is_read_at_the_place_of_the_table(
    table: DeltaTable, overwritten: list[Any]
) -> None:
    now = Frame(id=LongType(), added=StringType())
    store = settling(table, now, Frame(ID=IntegerType()))
    assert store.settle(None, ROW, RestoreOutput(kept="0", aside="1"))
    assert overwritten == [["`id`:bigint id", "None:string added"]]
    assert ledger_of(table).read("readings") == ROW


def test_rows_that_the_table_has_no_column_for_are_not_put_back(
    table: DeltaTable, overwritten: list[Any]
) -> None:
    store = settling(table, Frame(id=LongType()), Frame(id=LongType(), gone=StringType()))
    with pytest.raises(CannotSettleError) as refused:
        store.settle(None, ROW, RestoreOutput(kept="0", aside="1"))
    assert "The column gone of the Delta table /lake/gold is gone" in refused.value.why
    assert overwritten == []
