"""One start and one batch into SQL Server and Oracle, statement by statement, without a server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from holdfast.ledger import Apply
from holdfast.ledger.decide import Decision
from holdfast.ledger.row_json import row_values
from holdfast.sinks import arrow_columns
from holdfast.sinks.database import oracle, sqlserver
from holdfast.sinks.database.failures import DatabaseRefusedError, LedgerTableError
from holdfast.sinks.database.sink import Database
from holdfast.sinks.database.unrun import UnrunDialect
from holdfast.sinks.database.write import write_batch
from holdfast.sinks.database.writer import DatabaseWriter, resolve_writer
from holdfast.sinks.table_changed import TableChangedError
from tests.ledger_rows import ROW, attempt
from tests.unit.sinks.stand_in_driver import Connection, module

LEDGER = ("stream", "sink", "version", "state", "place", "pin", "brought", "opening")
STATE = msgspec.json.encode(row_values(ROW)).decode()
SCHEMA = pa.schema([("ID", pa.int64())])
BATCH = pa.RecordBatch.from_pydict({"ID": [1, 2]}, schema=SCHEMA)


def for_table(ledger: Any, table: Any) -> Callable[[Any], Any]:
    """Return what answers about the ledger's table or about the other, by what is asked for."""
    return lambda values: ledger if "ledger" in str(values).lower() or 9 in values else table


def of_sqlserver() -> Connection:
    def row(name: str, number: int) -> list[Any]:
        return [("dbo", name, number, "U", "USER_TABLE", "2026", "2026", False, 0)]

    def column(name: str) -> tuple[Any, ...]:
        return (name, "bigint", 8, 19, 0, None, True, 0, False, False, 0, None)

    return Connection(
        **{
            "sp_getapplock": [(0,)],
            "sys.objects": for_table(row("holdfast_ledger", 9), row("readings", 5)),
            "sys.columns WHERE": for_table([column(each) for each in LEDGER], [column("ID")]),
            "sys.indexes": [],
            "SERVERPROPERTY": [("host", "serving")],
            "SELECT sink": [("readings",)],
            "SELECT version": [(1, STATE, "dbo.readings", "5 2026 2026", 0, "null")],
            "SELECT TOP": [],
            "INSERT INTO": 2,
            "UPDATE holdfast_ledger": 1,
        }
    )


def of_oracle() -> Connection:
    def row(name: str, number: int) -> list[Any]:
        return [("APP", name, "TABLE", number, number, "2026", "N")]

    def column(name: str) -> tuple[Any, ...]:
        return (name, "NUMBER", 22, 0, None, None, None, "Y", None, *["NO"] * 4, None)

    columns = for_table([column(each.upper()) for each in LEDGER], [column("ID")])
    return Connection(
        **{
            "DBMS_LOCK": 0,
            "all_objects": for_table(row("HOLDFAST_LEDGER", 9), row("READINGS", 5)),
            "all_tab_cols": columns,
            "nls_database": [("AL32UTF8",)],
            "all_indexes": [],
            "SYS_CONTEXT": [("FREE", None, "FREEPDB1")],
            "SELECT sink": [("readings",)],
            "SELECT version": [(1, STATE, "APP.READINGS", "5 5 2026", 0, "null")],
            "UPDATE holdfast_ledger": 1,
        }
    )


WRITTEN = {
    "sqlserver": [
        "sp_getapplock",
        "BEGIN TRANSACTION",
        "WITH (TABLOCKX, HOLDLOCK)",
        "holdfast_ledger WITH (UPDLOCK, HOLDLOCK)",
        "INSERT INTO [dbo].[readings] ([ID]) VALUES (%s), (%s)",
        "UPDATE holdfast_ledger",
        "COMMIT TRANSACTION",
        "sp_releaseapplock",
    ],
    "oracle": [
        "DBMS_LOCK.REQUEST",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        'LOCK TABLE "APP"."READINGS" IN EXCLUSIVE MODE',
        "FOR UPDATE WAIT",
        'INSERT INTO "APP"."READINGS" ("ID") VALUES (:1)',
        "UPDATE holdfast_ledger",
        "COMMIT WRITE",
        "DBMS_LOCK.RELEASE",
    ],
}
CASES: list[tuple[UnrunDialect, Callable[[], Connection], str]] = [
    (sqlserver.DIALECT, of_sqlserver, "dbo.readings"),
    (oracle.DIALECT, of_oracle, "APP.READINGS"),
]


@pytest.fixture(params=CASES, ids=["sqlserver", "oracle"])
def started(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[DatabaseWriter, Connection]:
    """A start, as far as the writer of its batches."""
    dialect, make, table = request.param
    error = type("Error", (Exception,), {})
    kinds = {"DB_TYPE_NUMBER": "NUMBER"}
    driver = module(dialect.module, Error=error, DataError=type("DataError", (error,), {}), **kinds)
    types = module("pytds.tds_types", sql_type_by_declaration=str)
    base = module("pytds.tds_base", Param=lambda **named: named["value"])
    for each in (driver, types, base):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    connection = make()
    monkeypatch.setattr(type(dialect), "connect", lambda *_: connection)
    monkeypatch.setattr(arrow_columns, "find_schema", lambda *_: SCHEMA)
    sink = Database(lambda: f"{dialect.extra}://me:it@db/serving", table=table, name="readings")
    nothing: Any = SimpleNamespace()
    return resolve_writer(sink, nothing, "readings"), connection


def write(writer: DatabaseWriter) -> tuple[Decision, list[int]]:
    """Write a batch; return what was decided, and of how many rows."""
    ledger, target, rows = writer.ledger, writer.target, list[int]()
    decided = write_batch(ledger, target, attempt(0), batches=[BATCH], before_commit=rows.append)
    return decided, rows


def test_a_start_warns_that_the_dialect_was_never_run(
    started: tuple[DatabaseWriter, Connection],
) -> None:
    writer, _ = started
    product = writer.ledger.session.dialect.product
    (said,) = writer.warnings()
    assert said.startswith(f"hf.Database on {product} was written from its documentation")
    assert "never been run" in said
    assert product in writer.display_name


def test_a_batch_and_its_ledger_row_are_one_transaction(
    started: tuple[DatabaseWriter, Connection],
) -> None:
    writer, connection = started
    extra = writer.ledger.session.dialect.extra
    del connection.given[:]
    assert write(writer) == (Apply(), [2])
    left = iter(connection.statements)
    for wanted in WRITTEN[extra]:
        assert any(wanted in each for each in left), wanted
    (values,) = [v for s, v in connection.given if s.startswith("UPDATE holdfast_ledger")]
    assert values[4] == 2
    assert values[-2:] == ("readings", "readings")


def test_a_ledger_row_that_has_gone_takes_the_batch_back(
    started: tuple[DatabaseWriter, Connection],
) -> None:
    writer, connection = started
    connection.answers["UPDATE holdfast_ledger"] = 0
    with pytest.raises(LedgerTableError, match="has gone from holdfast_ledger"):
        write(writer)
    assert "ROLLBACK" in connection.statements[-2]
    assert not any("COMMIT" in each[:6] for each in connection.statements)


def test_a_table_that_is_gone_is_said(started: tuple[DatabaseWriter, Connection]) -> None:
    writer, connection = started
    dialect = writer.ledger.session.dialect
    assert isinstance(dialect, UnrunDialect)
    error = dialect.driver_error(SimpleNamespace(full_code="ORA-00942"))
    error.number = 208  # type: ignore[attr-defined]
    connection.answers = {"TABLOCKX": error, "LOCK TABLE": error} | connection.answers
    with pytest.raises(TableChangedError, match="dropped or renamed"):
        write(writer)


def test_a_lock_that_others_hold_is_tried_again_later(
    started: tuple[DatabaseWriter, Connection],
) -> None:
    writer, connection = started
    connection.answers |= {"sp_getapplock": [(-1,)], "DBMS_LOCK": 1}
    session = writer.ledger.session
    with pytest.raises(DatabaseRefusedError) as raised, session.naming_refusals(0):
        write(writer)
    assert raised.value.retryable
    assert raised.value.answer == "LOCK_HELD"
