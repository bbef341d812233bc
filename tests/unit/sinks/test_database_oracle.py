"""What `hf.Database` says to Oracle. No server has ever answered it: a stand-in does here."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from holdfast.errors import ConfigError
from holdfast.sinks.database import ledger_rows
from holdfast.sinks.database.contents import decode
from holdfast.sinks.database.merge import Merge
from holdfast.sinks.database.oracle import DIALECT
from holdfast.sinks.database.target import Column
from holdfast.sinks.database.unrun import TRIES, LockHeldError
from holdfast.sinks.database.url import parse_url
from tests.unit.sinks.stand_in_driver import Connection, Cursor, found_with, module, target_of

NAME = "holdfast-" + "0123456789abcdef" * 2
LOCK = 0x0123456789ABCDEF0123456789ABCDEF % (1 << 30)
KINDS_OF_DRIVER = (
    *("NUMBER", "VARCHAR", "RAW", "DATE", "TIMESTAMP", "BINARY_FLOAT", "BINARY_DOUBLE"),
    *("CLOB", "LONG", "BLOB", "LONG_RAW"),
)


class OracledbError(Exception):
    pass


def error_of(code: str) -> OracledbError:
    return OracledbError(SimpleNamespace(full_code=code, message="S3cret"))


@pytest.fixture(autouse=True)
def oracledb(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A driver in the place of the real one; returns what it was connected with."""
    given: dict[str, Any] = {}

    def connect(**named: object) -> Connection:
        given.update(named)
        found = given["connection"] = Connection()
        return found

    kinds = {f"DB_TYPE_{each}": each for each in KINDS_OF_DRIVER}
    found = module("oracledb", Error=OracledbError, connect=connect, **kinds)
    monkeypatch.setitem(sys.modules, "oracledb", found)
    return given


COLUMNS = (
    Column(name="ID", kind="number", shown="number(19,0)", precision=19, scale=0),
    Column(name="say?", kind="varchar2", shown="varchar2(9 BYTE)", octets=9, charset="AL32UTF8"),
    Column(
        name="AT",
        kind="timestamp with time zone",
        shown="timestamp(6) with time zone",
        fraction=6,
    ),
)
FOUND = found_with(*COLUMNS, uniques=(frozenset({"ID"}),))
SCHEMA = {"ID": pa.int64(), "say?": pa.string(), "AT": pa.timestamp("us", "UTC")}
MERGED = target_of(DIALECT, FOUND, SCHEMA, keys=["ID"], sequence_by="AT")


def test_a_session_is_set_up_so_that_values_are_exact_or_refused(oracledb: dict[str, Any]) -> None:
    url = parse_url("oracle://me:pa%40ss@db.example/serving?tls=1&read_timeout=9")
    assert not isinstance(url, str)
    DIALECT.connect(url)
    connection = oracledb.pop("connection")
    assert oracledb == {
        "user": "me",
        "password": "pa@ss",
        "host": "db.example",
        "port": 1521,
        "service_name": "serving",
        "protocol": "tcps",
        "wallet_location": None,
        "tcp_connect_timeout": 10,
    }
    assert connection.call_timeout == 9_000
    (settings,) = connection.statements
    assert "NLS_COMP = BINARY NLS_SORT = BINARY" in settings
    cursor = Cursor(connection)
    fetched = [
        connection.outputtypehandler(cursor, SimpleNamespace(type_code=each))
        for each in ("NUMBER", "CLOB", "BLOB", "DATE")
    ]
    assert fetched == [(Decimal, 100), ("LONG", 100), ("LONG_RAW", 100), None]


def test_a_transaction_writes_or_reads() -> None:
    connection = Connection()
    with DIALECT.transaction(connection):
        pass
    with pytest.raises(KeyError), DIALECT.transaction(connection, is_reading=True):
        raise KeyError
    assert connection.statements == [
        "rollback()",
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "COMMIT WRITE IMMEDIATE WAIT",
        "rollback()",
        "SET TRANSACTION READ ONLY",
        "ROLLBACK",
    ]


def test_a_name_is_quoted_as_it_is_written() -> None:
    assert DIALECT.quote_table("app.readings") == '"app"."readings"'
    for name in ('a"b', "a\0b"):
        with pytest.raises(ConfigError):
            DIALECT.quote(name)


def test_the_ledger_is_made_and_its_row_locked() -> None:
    ddl = " ".join(ledger_rows.ddl(DIALECT).split())
    assert ddl.startswith("CREATE TABLE holdfast_ledger ( stream varchar2(63 CHAR) NOT NULL, ")
    assert "state clob NOT NULL" in ddl
    assert "brought number(19) NOT NULL" in ddl
    connection = Connection(SELECT=[])
    ledger_rows.read(DIALECT, connection, "readings", sink="r", lock=True)
    assert connection.given == [
        (
            "SELECT version, state, place, pin, brought, opening FROM holdfast_ledger"
            " WHERE stream = :1 AND sink = :2 FOR UPDATE WAIT 50",
            ("readings", "r"),
        )
    ]
    names = ("stream", "sink", "version", "state", "place", "pin", "brought", "opening")
    here = Connection(
        all_objects=[("ME", "HOLDFAST_LEDGER", "TABLE", 1, 2, "x", "N")],
        nls_database=[("AL32UTF8",)],
        all_tab_cols=[row_of(each.upper(), "NUMBER") for each in names],
        all_indexes=[],
    )
    assert ledger_rows.has_table(DIALECT, here)
    assert here.given[0][1] == (None, "HOLDFAST_LEDGER")


def test_a_lock_belongs_to_the_session_and_its_holder_is_ended() -> None:
    connection = Connection(**{"DBMS_LOCK.REQUEST": 1, "gv$lock": [(Decimal(7), 8, 1)]})
    with pytest.raises(LockHeldError), DIALECT.held(connection, NAME, ends_others=True):
        pass
    assert connection.given[:2] == [
        ("DBMS_SESSION.SET_IDENTIFIER", [NAME]),
        ("DBMS_LOCK.REQUEST", [LOCK, 6, 2]),
    ]
    assert connection.given[2][1] == (LOCK, NAME)
    assert connection.given[3][0] == "ALTER SYSTEM KILL SESSION '7,8,@1' IMMEDIATE"
    assert len(connection.given) == 4 * TRIES
    connection = Connection(**{"DBMS_LOCK.REQUEST": 0})
    with DIALECT.held(connection, NAME, ends_others=False):
        assert connection.given[-1] == ("DBMS_LOCK.REQUEST", [LOCK, 6, 60])
    assert connection.given[-1] == ("DBMS_LOCK.RELEASE", [LOCK])
    for code, is_gone in (("ORA-00030", True), ("ORA-01031", False)):
        there: Any = {"gv$lock": [(7, 8, 1)], "KILL": error_of(code)}
        if is_gone:
            DIALECT.end_holder(Connection(**there), NAME)
        else:
            with pytest.raises(OracledbError):
                DIALECT.end_holder(Connection(**there), NAME)


def test_a_merge_is_a_merge_and_an_insert() -> None:
    connection = Connection(**{"SELECT count(*)": [(Decimal(0),)], 'INSERT INTO "app"': 7})
    merge = Merge(dialect=DIALECT, connection=connection, target=MERGED)
    merge.stage()
    assert merge.merge() == 7
    made = '"ID" number(19,0), "say?" varchar2(9 BYTE), "AT" timestamp(6) with time zone'
    drop, create, _, _, null_keys, newest, update, insert, _ = connection.statements
    assert "'DROP TABLE ORA$PTT_holdfast_batch'" in drop
    assert create == (
        f"CREATE PRIVATE TEMPORARY TABLE ORA$PTT_holdfast_batch ({made})"
        " ON COMMIT PRESERVE DEFINITION"
    )
    assert null_keys == 'SELECT count(*) FROM ORA$PTT_holdfast_batch WHERE "ID" IS NULL'
    assert newest.startswith("INSERT INTO ORA$PTT_holdfast_newest (")
    assert update.startswith(
        'MERGE INTO "app"."readings" t USING ORA$PTT_holdfast_newest s ON (t."ID" = s."ID")'
        ' WHEN MATCHED THEN UPDATE SET t."say?" = s."say?", t."AT" = s."AT"'
        ' WHERE ((t."AT" IS NULL AND s."AT" IS NOT NULL) OR s."AT" > t."AT" OR '
    )
    assert insert == (
        'INSERT INTO "app"."readings" ("ID", "say?", "AT") SELECT s."ID", s."say?", s."AT"'
        ' FROM ORA$PTT_holdfast_newest s LEFT JOIN "app"."readings" t ON t."ID" = s."ID"'
        ' WHERE t."ID" IS NULL'
    )


def test_rows_go_as_arrays_of_the_columns_types() -> None:
    at = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    rows = {"ID": [1, 2], "say?": ["x", None], "AT": [at, None]}
    batch = pa.RecordBatch.from_pydict(rows, schema=pa.schema(list(SCHEMA.items())))
    connection = Connection()
    assert DIALECT.send(connection, batch, target=MERGED, into="t") == 2
    assert connection.given == [
        ("setinputsizes", ("NUMBER", "VARCHAR", "TIMESTAMP")),
        (
            'INSERT INTO t ("ID", "say?", "AT") VALUES (:1, :2, FROM_TZ(:3, \'+00:00\'))',
            [(1, "x", at.replace(tzinfo=None)), (2, None, None)],
        ),
    ]


def row_of(name: str, kind: str, **other: Any) -> tuple[Any, ...]:
    """Return a row of ALL_TAB_COLS."""
    named = ("octets", "length", "unit", "precision", "scale", "nullable", "default", "on_null")
    rest = ("identity", "virtual", "hidden", "collation")
    given = {"octets": 22, "nullable": "N", "on_null": "NO", "identity": "NO", "hidden": "NO"}
    given |= {"virtual": "NO"} | other
    return (name, kind, *(given.get(each) for each in (*named, *rest)))


TABLE = ("APP", "READINGS", "TABLE", Decimal(5), Decimal(6), "2026-01-02 03:04:05", "N")
ROWS = [
    row_of("ID", "NUMBER", precision=Decimal(19), scale=Decimal(0)),
    row_of("ANY", "NUMBER", nullable="Y"),
    row_of("INT", "NUMBER", scale=Decimal(0), default=Decimal(3)),
    row_of("N", "NUMBER", identity="YES"),
    row_of("S", "VARCHAR2", octets=Decimal(40), length=Decimal(10), unit="C", nullable="Y"),
    row_of("B", "VARCHAR2", octets=40, length=40, unit="B", collation="BINARY_CI"),
    row_of("T", "TIMESTAMP(6) WITH TIME ZONE", octets=13, scale=6),
    row_of("R", "RAW", octets=16, on_null="YES", nullable="Y"),
    row_of("V", "NUMBER", virtual="YES", nullable="Y"),
]


def dictionary(table: tuple[Any, ...] = TABLE, rows: list[Any] = ROWS) -> Connection:
    """Return what has one table in its dictionary."""
    return Connection(
        all_objects=[table],
        nls_database=[("AL32UTF8",)],
        all_tab_cols=rows,
        all_indexes=[("APP.PK", "ID"), ("APP.U", "S"), ("APP.U", "R")],
        dba_triggers=[],
        dba_constraints=[],
    )


def test_a_table_is_found_in_the_dictionary() -> None:
    connection = dictionary()
    found = DIALECT.find(connection, "APP.READINGS")
    assert found is not None
    assert connection.given[0][1] == ("APP", "READINGS")
    assert (found.place, found.problem, found.pin) == (
        "APP.READINGS",
        None,
        "5 6 2026-01-02 03:04:05",
    )
    assert found.uniques == (frozenset({"ID"}), frozenset({"S", "R"}))
    assert [each.shown for each in found.columns.values()] == [
        "number(19,0)",
        "number",
        "number(*,0)",
        "number",
        "varchar2(10 CHAR)",
        "varchar2(40 BYTE) COLLATE BINARY_CI",
        "timestamp(6) with time zone",
        "raw(16)",
        "number",
    ]
    assert [each.name for each in found.columns.values() if each.is_nullable] == ["ANY", "S", "V"]
    assert [each.name for each in found.columns.values() if each.is_generated] == ["N", "V"]
    assert DIALECT.find(Connection(SELECT=[]), "READINGS") is None


@pytest.mark.parametrize(
    ("table", "rows", "problem"),
    [
        ((*TABLE[:2], "VIEW", *TABLE[3:]), ROWS, "It is a view."),
        ((*TABLE[:6], "Y"), ROWS, "It is a temporary table."),
        (TABLE, [row_of("H", "NUMBER", hidden="YES")], "H is invisible"),
    ],
)
def test_what_cannot_take_a_batch_is_refused(table: Any, rows: Any, problem: str) -> None:
    found = DIALECT.find(dictionary(table, rows), "READINGS")
    assert found is not None
    assert problem in str(found.problem)


@pytest.mark.parametrize(
    ("rows", "answers", "said"),
    [
        (ROWS, {}, "its identity column N"),
        (ROWS[:1], {"dba_triggers": [("LOG_IT",)]}, "its trigger LOG_IT"),
        (ROWS[:1], {"dba_constraints": [("APP", "CHILD")]}, "APP.CHILD refers to it"),
        (ROWS[:1], {"dba_triggers": error_of("ORA-00942")}, "SELECT_CATALOG_ROLE"),
        (ROWS[:1], {}, "None"),
    ],
)
def test_what_moving_rows_would_change_is_said(rows: Any, answers: Any, said: str) -> None:
    connection = dictionary(TABLE, rows)
    connection.answers |= answers
    assert said in str(DIALECT.find_effect(connection, "READINGS", deletes=True))


def test_other_statements() -> None:
    nowhere: Any = SimpleNamespace()
    identify = Connection(SELECT=[("FREE", None, "FREEPDB1")])
    assert DIALECT.identify(identify, nowhere) == "oracle:FREE./FREEPDB1"
    assert DIALECT.touch('"T"') == 'LOCK TABLE "T" IN EXCLUSIVE MODE WAIT 50'
    assert DIALECT.selected(COLUMNS[0]) == '"ID"'
    assert DIALECT.selected(COLUMNS[2]) == (
        "TO_CHAR(SYS_EXTRACT_UTC(\"AT\"), 'YYYY-MM-DD\"T\"HH24:MI:SS.FF6') || '+00:00'"
    )
    day = DIALECT.selected(Column(name="D", kind="date", shown="date"))
    assert day.startswith('CASE WHEN "D" = TRUNC("D") AND "D" >= DATE \'0001-01-01\' THEN TO_CHAR(')
    assert DIALECT.exact_key(COLUMNS[1]) == ""


def test_numbers_are_read_with_all_their_digits() -> None:
    kind: Any = SimpleNamespace(typeName=lambda: "long")
    read = [decode(Decimal(each), kind) for each in ("5", "5E+2", "9223372036854775808", "1.5")]
    assert read == [5, 500, None, None]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (error_of("ORA-00060"), ("ORA-00060", False, True, False)),
        (error_of("ORA-00942"), ("ORA-00942", False, False, True)),
        (error_of("ORA-00028"), ("ORA-00028", True, False, False)),
        (error_of("DPY-4011"), ("DPY-4011", True, False, False)),
        (error_of("DPY-4024"), ("DPY-4024", True, False, False)),
        (error_of("ORA-00001"), ("ORA-00001", False, False, False)),
        (OracledbError("no code"), ("nothing any more", True, False, False)),
        (LockHeldError(), ("LOCK_HELD", False, True, False)),
    ],
)
def test_errors_mean_something(error: Exception, expected: tuple[object, ...]) -> None:
    found = DIALECT.trouble_of(error)
    assert found is not None
    assert isinstance(error, DIALECT.errors)
    assert (found.code, found.is_gone, found.is_busy, found.has_no_table) == expected


def test_errors_of_others_and_of_what_was_given_are_none() -> None:
    assert DIALECT.trouble_of(KeyError()) is None
    assert DIALECT.trouble_of(error_of("DPY-2000")) is None
    assert DIALECT.why_not_connected(error_of("ORA-01017"))[1] is False
    assert DIALECT.why_not_connected(error_of("DPY-6005"))[1] is True
    assert "S3cret" not in DIALECT.why_not_connected(error_of("ORA-00007"))[0]
