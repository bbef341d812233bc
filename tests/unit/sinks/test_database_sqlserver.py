"""What `hf.Database` says to SQL Server. No server has ever answered it: a stand-in does here."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from holdfast.sinks.database import ledger_rows
from holdfast.sinks.database.merge import Merge
from holdfast.sinks.database.sqlserver import DIALECT
from holdfast.sinks.database.target import Column
from holdfast.sinks.database.unrun import TRIES, LockHeldError
from holdfast.sinks.database.url import parse_url
from tests.unit.sinks.stand_in_driver import Connection, found_with, module, target_of

EXACT = "Latin1_General_100_BIN2"
NAME = "holdfast-" + "0123456789abcdef" * 2


class PytdsError(Exception):
    number = 0


def error_of(number: int) -> PytdsError:
    found = PytdsError("S3cret")
    found.number = number
    return found


@pytest.fixture(autouse=True)
def pytds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A driver in the place of the real one; returns what it was connected with."""
    given: dict[str, Any] = {}

    def connect(**named: object) -> Connection:
        given.update(named)
        found = given["connection"] = Connection()
        return found

    data_error = type("DataError", (PytdsError,), {})
    found = module("pytds", Error=PytdsError, DataError=data_error, connect=connect)
    monkeypatch.setitem(sys.modules, "pytds", found)
    types = module("pytds.tds_types", sql_type_by_declaration=str.upper)
    monkeypatch.setitem(sys.modules, "pytds.tds_types", types)
    base = module("pytds.tds_base", Param=lambda **named: (named["type"], named["value"]))
    monkeypatch.setitem(sys.modules, "pytds.tds_base", base)
    return given


COLUMNS = (
    Column(name="id", kind="bigint", shown="bigint"),
    Column(name="a]b%?", kind="nvarchar", shown="nvarchar(max) COLLATE X", collation="X"),
    Column(name="at", kind="datetime2", shown="datetime2(6)", fraction=6),
)
FOUND = found_with(*COLUMNS, uniques=(frozenset({"id"}),))
SCHEMA = {"id": pa.int64(), "a]b%?": pa.string(), "at": pa.timestamp("us")}
MERGED = target_of(DIALECT, FOUND, SCHEMA, keys=["id"], sequence_by="at")


def test_a_session_is_set_up_so_that_values_are_exact_or_refused(pytds: dict[str, Any]) -> None:
    url = parse_url("mssql+pytds://me:pa%40ss@db.example/serving?ssl_ca=/ca.pem&read_timeout=9")
    assert not isinstance(url, str)
    DIALECT.connect(url)
    connection = pytds.pop("connection")
    assert pytds == {
        "dsn": "db.example",
        "port": 1433,
        "user": "me",
        "password": "pa@ss",
        "database": "serving",
        "cafile": "/ca.pem",
        "login_timeout": 10,
        "timeout": 9,
        "autocommit": True,
        "disable_connect_retry": True,
    }
    (settings,) = connection.statements
    for each in ("ANSI_WARNINGS ON", "XACT_ABORT OFF", "IMPLICIT_TRANSACTIONS OFF", "NOCOUNT OFF"):
        assert f"SET {each};" in settings
    assert connection.left == []


def test_a_transaction_writes_or_reads() -> None:
    connection = Connection()
    with DIALECT.transaction(connection):
        pass
    with pytest.raises(KeyError), DIALECT.transaction(connection, is_reading=True):
        raise KeyError
    assert connection.statements == [
        "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET DEADLOCK_PRIORITY NORMAL; "
        "BEGIN TRANSACTION",
        "COMMIT TRANSACTION WITH (DELAYED_DURABILITY = OFF)",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET DEADLOCK_PRIORITY LOW; "
        "BEGIN TRANSACTION",
        "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION",
    ]


def test_every_answer_of_a_statement_is_read() -> None:
    """What is left unread pytds cancels before the next statement."""
    connection = Connection(SELECT=[(1,)])
    DIALECT.ask(connection, "SELECT 1 FROM t WHERE c = ?", ("a",))
    DIALECT.run(connection, "DELETE FROM t")
    assert connection.left == []
    assert connection.given[0] == ("SELECT 1 FROM t WHERE c = %s", ("a",))


def test_the_ledger_is_made_and_its_row_locked() -> None:
    ddl = " ".join(ledger_rows.ddl(DIALECT).split())
    assert ddl.startswith(f"CREATE TABLE holdfast_ledger ( stream nvarchar(63) COLLATE {EXACT} ")
    assert f"state nvarchar(max) COLLATE {EXACT} NOT NULL, place nvarchar(255) " in ddl
    connection = Connection(SELECT=[])
    ledger_rows.read(DIALECT, connection, "readings", sink="r", lock=True)
    assert connection.statements == [
        "SELECT version, state, place, pin, brought, opening FROM holdfast_ledger"
        " WITH (UPDLOCK, HOLDLOCK) WHERE stream = %s AND sink = %s"
    ]


def test_a_lock_belongs_to_the_session_and_its_holder_is_ended() -> None:
    connection = Connection(sp_getapplock=[(-1,)])
    with pytest.raises(LockHeldError), DIALECT.held(connection, NAME, ends_others=True):
        pass
    taken, ended = connection.given[:2]
    assert taken[1] == (NAME[9:], 2_000)
    assert "@LockOwner = N'Session'" in taken[0]
    assert ended[1] == (NAME[9:],)
    assert "KILL" in ended[0]
    assert len(connection.given) == 2 * TRIES
    connection = Connection(sp_getapplock=[(-1,)])
    with pytest.raises(LockHeldError), DIALECT.held(connection, NAME, ends_others=False):
        pass
    assert len(connection.given) == 1
    connection = Connection(sp_getapplock=[(1,)])
    with DIALECT.held(connection, NAME, ends_others=True):
        assert len(connection.given) == 1
    assert "sp_releaseapplock" in connection.statements[-1]
    DIALECT.end_holder(Connection(KILL=error_of(6106)), NAME)
    with pytest.raises(PytdsError):
        DIALECT.end_holder(Connection(KILL=error_of(6102)), NAME)


def test_a_merge_is_an_update_by_a_join_and_an_insert() -> None:
    connection = Connection(**{"SELECT count(*)": [(0,)], "INSERT INTO [app]": 7})
    merge = Merge(dialect=DIALECT, connection=connection, target=MERGED)
    merge.stage()
    assert merge.merge() == 7
    columns = "[id], [a]]b%?], [at]"
    tie = "CAST(s.[a]]b%?] AS varbinary(max)) + 0x01"
    made = "[id] bigint, [a]]b%?] nvarchar(max) COLLATE X, [at] datetime2(6)"
    stage, (null_keys, newest, update, insert, missing) = (
        connection.statements[:4],
        connection.statements[4:],
    )
    assert stage == [
        "DROP TABLE IF EXISTS #holdfast_batch",
        f"CREATE TABLE #holdfast_batch ({made})",
        "DROP TABLE IF EXISTS #holdfast_newest",
        f"CREATE TABLE #holdfast_newest ({made})",
    ]
    assert null_keys == "SELECT count(*) FROM #holdfast_batch WHERE [id] IS NULL"
    assert newest == (
        f"INSERT INTO #holdfast_newest ({columns}) SELECT {columns} FROM (SELECT {columns},"
        " ROW_NUMBER() OVER (PARTITION BY [id] ORDER BY CASE WHEN [at] IS NULL THEN 1 ELSE 0 END,"
        " [at] DESC, CASE WHEN [a]]b%?] IS NULL THEN 1 ELSE 0 END DESC,"
        " (CAST([a]]b%?] AS varbinary(max)) + 0x01) DESC) AS holdfast_rank FROM #holdfast_batch)"
        " r WHERE holdfast_rank = 1"
    )
    assert update.startswith(
        "UPDATE t SET t.[a]]b%?] = s.[a]]b%?], t.[at] = s.[at] FROM #holdfast_newest s"
        " JOIN [app].[readings] t ON t.[id] = s.[id] WHERE ((t.[at] IS NULL AND s.[at] IS NOT NULL)"
    )
    assert f"({tie}) > (" in update
    assert insert == (
        f"INSERT INTO [app].[readings] ({columns}) SELECT s.[id], s.[a]]b%?], s.[at]"
        " FROM #holdfast_newest s LEFT JOIN [app].[readings] t ON t.[id] = s.[id]"
        " WHERE t.[id] IS NULL"
    )
    assert missing.startswith("SELECT count(*) FROM #holdfast_newest s LEFT JOIN")


def test_rows_go_by_parameters_with_types_in_statements_of_2000_values() -> None:
    batch = pa.RecordBatch.from_pydict(
        {"id": range(700), "a]b%?": ["x"] * 699 + [None], "at": [None] * 700},
        schema=pa.schema(list(SCHEMA.items())),
    )
    connection = Connection(INSERT=0)
    assert DIALECT.send(connection, batch, target=MERGED, into="#holdfast_batch") == 0
    first, second = connection.given
    head = "INSERT INTO #holdfast_batch ([id], [a]]b%%?], [at]) VALUES "
    assert first[0] == head + ", ".join(["(%s, %s, %s)"] * 666)
    assert second[0] == head + ", ".join(["(%s, %s, %s)"] * 34)
    assert second[1][-3:] == (("BIGINT", 699), ("NVARCHAR(MAX)", None), ("DATETIME2(6)", None))
    assert connection.left == []


ROW = ("dbo", "readings", 5, "U", "USER_TABLE", "2026-01-01", "2026-01-02", False, 0)
KINDS = [
    ("id", "bigint", 8, 19, 0, None, False, 0, False, False, 0, None),
    ("n", "int", 4, 10, 0, None, False, 0, True, False, 0, None),
    ("s", "nvarchar", 20, 0, 0, "L_BIN2", True, 0, False, False, 0, None),
    ("m", "nvarchar", -1, 0, 0, "L_CI", True, 0, False, False, 0, None),
    ("d", "decimal", 9, 10, 2, None, False, 7, False, False, 0, None),
    ("t", "datetime2", 8, 27, 7, None, True, 0, False, False, 0, None),
    ("v", "timestamp", 8, 0, 0, None, False, 0, False, False, 0, None),
    ("c", "nvarchar", 20, 0, 0, "L_BIN2", True, 0, False, False, 0, 1),
    ("g", None, 8, 0, 0, None, True, 0, False, True, 0, None),
]


def test_a_table_is_found_in_the_catalogue() -> None:
    connection = Connection(
        **{
            "sys.objects": [ROW],
            "sys.columns WHERE": KINDS,
            "sys.indexes": [(1, "id"), (2, "n"), (2, "s")],
        }
    )
    found = DIALECT.find(connection, "dbo.readings")
    assert found is not None
    assert connection.given[0][1] == ("[dbo].[readings]",)
    assert (found.place, found.problem, found.pin) == (
        "dbo.readings",
        None,
        "5 2026-01-01 2026-01-02",
    )
    assert found.uniques == (frozenset({"id"}), frozenset({"n", "s"}))
    shown = {each.name: (each.shown, each.length) for each in found.columns.values()}
    assert shown["s"] == ("nvarchar(10) COLLATE L_BIN2", 10)
    assert shown["m"] == ("nvarchar(max) COLLATE L_CI", None)
    assert shown["d"] == ("decimal(10,2)", None)
    assert shown["t"] == ("datetime2(7)", None)
    assert shown["c"][0] == "encrypted nvarchar(10) COLLATE L_BIN2"
    assert [each.name for each in found.columns.values() if not each.has_default] == ["id"]
    assert [each.name for each in found.columns.values() if each.is_generated] == ["n", "v", "g"]
    assert DIALECT.find(Connection(SELECT=[]), "readings") is None
    copy = Connection(SELECT=[])
    DIALECT.find(copy, "holdfast.kept_readings_1")
    assert copy.given[0][1] == ("[holdfast.kept_readings_1]",)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({3: "V", 4: "VIEW"}, "It is a view, and not a table."),
        ({3: "SN", 4: "SYNONYM"}, "It is a synonym, and not a table."),
        ({7: True}, "memory-optimized"),
        ({8: 2}, "system-versioned"),
    ],
)
def test_what_cannot_take_a_batch_is_refused(changed: dict[int, Any], problem: str) -> None:
    row = tuple(changed.get(at, each) for at, each in enumerate(ROW))
    answers: Any = {"sys.objects": [row], "sys.columns WHERE": [], "sys.indexes": []}
    found = DIALECT.find(Connection(**answers), "readings")
    assert found is not None
    assert problem in str(found.problem)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"HAS_PERMS": [(0,)]}, "lacks VIEW DEFINITION"),
        ({"is_identity": [("n",)]}, "its column n"),
        ({"sys.triggers": [("log_it",)]}, "its trigger log_it"),
        ({"sys.foreign_keys": [("dbo", "child")]}, "dbo.child refers to it"),
        ({}, "None"),
    ],
)
def test_what_moving_rows_would_change_is_said(answers: dict[str, Any], said: str) -> None:
    nothing = {"HAS_PERMS": [(1,)], "is_identity": [], "sys.triggers": [], "sys.foreign_keys": []}
    connection = Connection(**(nothing | answers))
    assert said in str(DIALECT.find_effect(connection, "readings", deletes=True))


def test_other_statements() -> None:
    identify = Connection(SELECT=[("host\\one", "serving")])
    nowhere: Any = SimpleNamespace()
    assert DIALECT.identify(identify, nowhere) == "sqlserver:host\\one/serving"
    assert DIALECT.touch("[t]") == "SELECT TOP (1) 1 FROM [t] WITH (TABLOCKX, HOLDLOCK)"
    assert DIALECT.copies_rows.format(kept="[k]", name="[t]") == (
        "SELECT * INTO [k] FROM [t] WHERE 1 = 0"
    )
    assert DIALECT.selected(COLUMNS[1]) == "[a]]b%?]"
    assert DIALECT.exact_key(COLUMNS[1]) == f"nvarchar(max) COLLATE {EXACT}"
    assert DIALECT.exact_key(COLUMNS[0]) == ""
    rows = Connection(SELECT=[(1, "a"), (2, None)])
    assert list(DIALECT.rows(rows, "SELECT * FROM t")) == [[(1, "a"), (2, None)]]
    again = Connection(SELECT=[(2, None), (1, "a")])
    assert DIALECT.version(rows, "t") == DIALECT.version(again, "t")
    assert DIALECT.version(rows, "t") != DIALECT.version(Connection(SELECT=[(1, "a")]), "t")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (error_of(1205), ("Msg 1205", False, True, False)),
        (error_of(208), ("Msg 208", False, False, True)),
        (error_of(596), ("Msg 596", True, False, False)),
        (error_of(2627), ("Msg 2627", False, False, False)),
        (PytdsError("Server closed connection"), ("nothing any more", True, False, False)),
        (TimeoutError(), ("TimeoutError", True, False, False)),
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
    assert DIALECT.trouble_of(sys.modules["pytds"].DataError()) is None
    assert DIALECT.why_not_connected(error_of(18456))[1] is False
    assert DIALECT.why_not_connected(TimeoutError())[1] is True
    assert "S3cret" not in DIALECT.why_not_connected(error_of(7))[0]
