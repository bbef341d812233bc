"""Dialects that no server has ever seen say so; what a type would change, they refuse."""

from __future__ import annotations

import math
import sqlite3
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from holdfast.errors import MissingExtraError
from holdfast.sinks.arrow_columns import InexactError
from holdfast.sinks.database import mariadb, oracle, sqlite, sqlserver
from holdfast.sinks.database.bound_values import values_of
from holdfast.sinks.database.dialect import Dialect
from holdfast.sinks.database.merge import Merge
from holdfast.sinks.database.oracle_tables import _column as oracle_column
from holdfast.sinks.database.session import Session
from holdfast.sinks.database.sqlserver_tables import _column as sqlserver_column
from holdfast.sinks.database.target import Column
from holdfast.sinks.database.unrun import UnrunDialect
from holdfast.sinks.database.url import SCHEMES
from holdfast.sinks.failures import TableError
from holdfast.sinks.iceberg.failures import CatalogError
from holdfast.sinks.iceberg.jdbc_catalog import DatabaseCatalog
from tests.unit.sinks.stand_in_driver import Connection, found_with, module, target_of

UNRUN: tuple[UnrunDialect, ...] = (sqlserver.DIALECT, oracle.DIALECT)
ALL: tuple[Dialect, ...] = (mariadb.DIALECT, sqlite.DIALECT, *UNRUN)
OF_MODULE = {"sqlserver": sqlserver.DIALECT, "oracle": oracle.DIALECT}


@pytest.mark.parametrize("dialect", ALL, ids=lambda each: each.product)
def test_a_dialect_has_all_that_is_asked_of_one(dialect: Dialect) -> None:
    missing = [
        name
        for name in vars(Dialect)
        if getattr(getattr(type(dialect), name, None), "__isabstractmethod__", False)
    ]
    said = ("product", "extra", "module", "mark", "isolation")
    assert (missing, [each for each in said if not getattr(dialect, each)]) == ([], [])
    assert dialect.never_run == (dialect in UNRUN)


def test_a_dialect_that_lacks_something_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="take_lock"):
        type("Db2", (UnrunDialect,), {})


def test_every_scheme_has_its_dialect() -> None:
    assert {f"holdfast.sinks.database.{each}" for each in SCHEMES.values()} == {
        type(each).__module__ for each in ALL
    }


@pytest.mark.parametrize("dialect", UNRUN, ids=lambda each: each.product)
def test_every_start_says_that_it_was_never_run(dialect: UnrunDialect) -> None:
    assert dialect.warnings(Connection()) == (
        f"hf.Database on {dialect.product} was written from its documentation and has never been "
        "run: try it on a copy first",
    )


@pytest.mark.parametrize("dialect", UNRUN, ids=lambda each: each.product)
def test_without_its_driver_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, dialect: UnrunDialect
) -> None:
    monkeypatch.setitem(sys.modules, dialect.module, None)
    session = Session(lambda: f"{dialect.extra}://me:it@db/serving", "the table t")
    with pytest.raises(MissingExtraError) as raised:
        session.connection()
    assert raised.value.extra == dialect.extra


@pytest.mark.parametrize("dialect", UNRUN, ids=lambda each: each.product)
def test_no_catalog_of_iceberg_is_read_there(
    monkeypatch: pytest.MonkeyPatch, dialect: UnrunDialect
) -> None:
    driver = module(dialect.module, Error=type("Error", (Exception,), {}))
    monkeypatch.setitem(sys.modules, dialect.module, driver)
    monkeypatch.setattr(type(dialect), "connect", lambda *_: Connection())
    catalog = DatabaseCatalog(lambda: f"{dialect.extra}://me:it@db/serving", "a", "b")
    with pytest.raises(CatalogError, match="was ever read"):
        catalog.locate("lake", ["db"], "t")


def of_sqlserver(kind: str, **other: Any) -> Column:
    """Return a column as the catalogue of SQL Server has it."""
    length = other.pop("length", 8)
    named = {"precision": 0, "scale": 0, "collation": None, "nullable": True} | other
    return sqlserver_column(("x", kind, length, *named.values(), 0, False, False, 0, None))


def of_oracle(kind: str, **other: Any) -> Column:
    """Return a column as the dictionary of Oracle has it."""
    charset = other.pop("charset", "AL32UTF8")
    named = {"octets": 22, "length": 0, "unit": None, "precision": None, "scale": None} | other
    flags = ("Y", None, "NO", "NO", "NO", "NO", named.pop("collation", None))
    return oracle_column(("x", kind, *named.values(), *flags), charset)


INSTANT, TIME, DAY = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32()
BIN2 = {"collation": "Latin1_General_100_BIN2"}
TAKEN: list[tuple[str, Column, pa.DataType, str]] = [
    ("sqlserver", of_sqlserver("bit"), pa.bool_(), "bit"),
    ("sqlserver", of_sqlserver("tinyint"), pa.int8(), "bigint"),
    ("sqlserver", of_sqlserver("bigint"), pa.int32(), "bigint"),
    ("sqlserver", of_sqlserver("real"), pa.float32(), "real"),
    ("sqlserver", of_sqlserver("float"), pa.float32(), "float"),
    ("sqlserver", of_sqlserver("numeric", precision=12, scale=3), pa.decimal128(10, 2), "decimal"),
    ("sqlserver", of_sqlserver("nvarchar", length=-1, **BIN2), pa.string(), "nvarchar(max)"),
    ("sqlserver", of_sqlserver("varbinary", length=4), pa.binary(), "varbinary(max)"),
    ("sqlserver", of_sqlserver("date"), DAY, "date"),
    ("sqlserver", of_sqlserver("datetime2", scale=3), TIME, "datetime2(3)"),
    ("sqlserver", of_sqlserver("datetimeoffset", scale=6), INSTANT, "datetimeoffset(6)"),
    ("oracle", of_oracle("NUMBER", precision=1, scale=0), pa.bool_(), "DB_TYPE_NUMBER"),
    ("oracle", of_oracle("NUMBER"), pa.int64(), "DB_TYPE_NUMBER"),
    ("oracle", of_oracle("NUMBER", scale=0), pa.int64(), "DB_TYPE_NUMBER"),
    ("oracle", of_oracle("NUMBER", precision=38, scale=9), pa.decimal128(38, 9), "DB_TYPE_NUMBER"),
    ("oracle", of_oracle("BINARY_FLOAT"), pa.float32(), "DB_TYPE_BINARY_FLOAT"),
    ("oracle", of_oracle("BINARY_DOUBLE"), pa.float64(), "DB_TYPE_BINARY_DOUBLE"),
    ("oracle", of_oracle("VARCHAR2", octets=8, unit="B"), pa.string(), "DB_TYPE_VARCHAR"),
    ("oracle", of_oracle("RAW", octets=2), pa.binary(), "DB_TYPE_RAW"),
    ("oracle", of_oracle("DATE"), DAY, "DB_TYPE_DATE"),
    ("oracle", of_oracle("TIMESTAMP(6)", scale=6), TIME, "DB_TYPE_TIMESTAMP"),
    ("oracle", of_oracle("TIMESTAMP(3) WITH TIME ZONE", scale=3), INSTANT, "DB_TYPE_TIMESTAMP"),
]


@pytest.mark.parametrize(("name", "column", "kind", "bound"), TAKEN)
def test_a_type_is_bound_as_one_that_keeps_it(
    name: str, column: Column, *, kind: pa.DataType, bound: str
) -> None:
    found = OF_MODULE[name].find_field("x", kind, column)
    assert found is not None
    assert found.bound.startswith(bound)


REFUSED: list[tuple[str, Column, pa.DataType]] = [
    ("sqlserver", of_sqlserver("datetime", scale=3), TIME),
    ("sqlserver", of_sqlserver("smalldatetime"), TIME),
    ("sqlserver", of_sqlserver("datetime2", scale=7), TIME),
    ("sqlserver", of_sqlserver("datetime2", scale=6), INSTANT),
    ("sqlserver", of_sqlserver("datetimeoffset", scale=6), TIME),
    ("sqlserver", of_sqlserver("datetime2", scale=6), DAY),
    ("sqlserver", of_sqlserver("varchar", length=9, **BIN2), pa.string()),
    ("sqlserver", of_sqlserver("nchar", length=8, **BIN2), pa.string()),
    ("sqlserver", of_sqlserver("ntext", **BIN2), pa.string()),
    ("sqlserver", of_sqlserver("money", precision=19, scale=4), pa.decimal128(10, 2)),
    ("sqlserver", of_sqlserver("decimal", precision=10, scale=2), pa.decimal128(10, 3)),
    ("sqlserver", of_sqlserver("int"), pa.int64()),
    ("sqlserver", of_sqlserver("int"), pa.bool_()),
    ("sqlserver", of_sqlserver("real"), pa.float64()),
    ("sqlserver", of_sqlserver("timestamp"), pa.binary()),
    ("sqlserver", of_sqlserver("sql_variant"), pa.string()),
    ("oracle", of_oracle("NUMBER", precision=18, scale=0), pa.int64()),
    ("oracle", of_oracle("NUMBER", precision=10, scale=-2), pa.int16()),
    ("oracle", of_oracle("NUMBER", precision=10, scale=2), pa.decimal128(10, 3)),
    ("oracle", of_oracle("NUMBER"), pa.float64()),
    ("oracle", of_oracle("FLOAT", precision=126), pa.float64()),
    ("oracle", of_oracle("BINARY_FLOAT"), pa.float64()),
    ("oracle", of_oracle("VARCHAR2", unit="B", charset="WE8MSWIN1252"), pa.string()),
    ("oracle", of_oracle("VARCHAR2", unit="B", collation="BINARY_CI"), pa.string()),
    ("oracle", of_oracle("NVARCHAR2"), pa.string()),
    ("oracle", of_oracle("CHAR", unit="B"), pa.string()),
    ("oracle", of_oracle("CLOB"), pa.string()),
    ("oracle", of_oracle("BLOB"), pa.binary()),
    ("oracle", of_oracle("DATE"), TIME),
    ("oracle", of_oracle("TIMESTAMP(6)", scale=6), DAY),
    ("oracle", of_oracle("TIMESTAMP(9)", scale=9), TIME),
    ("oracle", of_oracle("TIMESTAMP(6)", scale=6), INSTANT),
    ("oracle", of_oracle("TIMESTAMP(6) WITH LOCAL TIME ZONE", scale=6), INSTANT),
]


@pytest.mark.parametrize(("name", "column", "kind"), REFUSED)
def test_a_type_that_would_change_values_is_refused(
    name: str, column: Column, kind: pa.DataType
) -> None:
    assert OF_MODULE[name].find_field("x", kind, column) is None


CHANGED: list[tuple[str, Column, pa.DataType, object]] = [
    ("sqlserver", of_sqlserver("tinyint"), pa.int8(), -1),
    ("sqlserver", of_sqlserver("float"), pa.float64(), math.nan),
    ("sqlserver", of_sqlserver("float"), pa.float64(), -0.0),
    ("sqlserver", of_sqlserver("float"), pa.float64(), 5e-324),
    ("sqlserver", of_sqlserver("real"), pa.float32(), 1.401298464324817e-45),
    ("sqlserver", of_sqlserver("nvarchar", length=6, **BIN2), pa.string(), "a😀b"),
    ("sqlserver", of_sqlserver("varbinary", length=2), pa.binary(), b"abc"),
    ("sqlserver", of_sqlserver("binary", length=2), pa.binary(), b"a"),
    ("sqlserver", of_sqlserver("datetime2", scale=3), TIME, datetime(2026, 1, 1, 0, 0, 0, 1)),  # noqa: DTZ001
    ("sqlserver", of_sqlserver("bigint", nullable=False), pa.int64(), None),
    ("oracle", of_oracle("VARCHAR2", octets=8, unit="B"), pa.string(), ""),
    ("oracle", of_oracle("VARCHAR2", octets=3, unit="B"), pa.string(), "üü"),
    ("oracle", of_oracle("VARCHAR2", octets=12, length=3, unit="C"), pa.string(), "abcd"),
    ("oracle", of_oracle("RAW", octets=2), pa.binary(), b""),
    ("oracle", of_oracle("BINARY_DOUBLE"), pa.float64(), math.inf),
    ("oracle", of_oracle("DATE"), DAY, date(1582, 10, 14)),
    ("oracle", of_oracle("TIMESTAMP(6)", scale=6), TIME, datetime(1582, 10, 14)),  # noqa: DTZ001
    (
        "oracle",
        of_oracle("TIMESTAMP(3) WITH TIME ZONE", scale=3),
        INSTANT,
        datetime(2026, 1, 1, 0, 0, 0, 1, UTC),
    ),
]


@pytest.mark.parametrize(("name", "column", "kind", "value"), CHANGED)
def test_a_value_that_would_change_is_refused(
    name: str, column: Column, *, kind: pa.DataType, value: object
) -> None:
    field = OF_MODULE[name].find_field("x", kind, column)
    assert field is not None
    batch = pa.RecordBatch.from_pydict({"x": pa.array([None, value], kind)})
    if not column.is_nullable:
        batch = batch.slice(1)
    with pytest.raises(InexactError):
        values_of([field], batch)
    if column.is_nullable:
        assert values_of([field], batch.slice(0, 1)) == [[None]]


SUGGESTED: list[tuple[pa.DataType, object, Column, Column]] = [
    (pa.bool_(), True, of_sqlserver("bit"), of_oracle("NUMBER", precision=1, scale=0)),
    (pa.int8(), -128, of_sqlserver("smallint"), of_oracle("NUMBER", precision=3, scale=0)),
    (pa.int16(), 9, of_sqlserver("smallint"), of_oracle("NUMBER", precision=5, scale=0)),
    (pa.int32(), 9, of_sqlserver("int"), of_oracle("NUMBER", precision=10, scale=0)),
    (pa.int64(), -(2**63), of_sqlserver("bigint"), of_oracle("NUMBER", precision=19, scale=0)),
    (pa.float32(), 0.5, of_sqlserver("real"), of_oracle("BINARY_FLOAT")),
    (pa.float64(), 2.0**-1022, of_sqlserver("float"), of_oracle("BINARY_DOUBLE")),
    (
        pa.decimal128(38, 9),
        Decimal("99999999999999999999999999999.000000001"),
        of_sqlserver("decimal", precision=38, scale=9),
        of_oracle("NUMBER", precision=38, scale=9),
    ),
    (
        pa.string(),
        "a😀 ",
        of_sqlserver("nvarchar", length=-1, **BIN2),
        of_oracle("VARCHAR2", octets=4000, unit="B"),
    ),
    (pa.binary(), b"a\0", of_sqlserver("varbinary", length=-1), of_oracle("RAW", octets=2000)),
    (DAY, date(1582, 10, 15), of_sqlserver("date"), of_oracle("DATE")),
    (
        TIME,
        datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
        of_sqlserver("datetime2", scale=6),
        of_oracle("TIMESTAMP(6)", scale=6),
    ),
    (
        INSTANT,
        datetime(2026, 3, 29, 2, 30, 0, 1, UTC),
        of_sqlserver("datetimeoffset", scale=6),
        of_oracle("TIMESTAMP(6) WITH TIME ZONE", scale=6),
    ),
]


@pytest.mark.parametrize(("kind", "value", "one", "other"), SUGGESTED)
def test_what_is_suggested_takes_every_value(
    kind: pa.DataType, value: object, *, one: Column, other: Column
) -> None:
    """And is shown by the catalogue as it was suggested."""
    batch = pa.RecordBatch.from_pydict({"x": pa.array([value], kind)})
    for dialect, column in zip(UNRUN, (one, other), strict=True):
        assert dialect.suggest_type(kind) == column.shown
        field = dialect.find_field("x", kind, column)
        assert field is not None
        (found,) = values_of([field], batch)
        without_zone = value.replace(tzinfo=None) if isinstance(value, datetime) else value
        assert found in ([value], [without_zone])
        assert dialect.suggest_type(pa.list_(kind)) is None


MAKERS: list[tuple[Callable[[], Column], str]] = [
    (lambda: of_sqlserver("nvarchar", length=20, collation="Latin1_General_CI_AS"), "CI_AS"),
    (lambda: of_sqlserver("float"), "no exact keys"),
]


@pytest.mark.parametrize(("make", "why"), MAKERS)
def test_a_key_that_is_compared_otherwise_is_refused(make: Callable[[], Column], why: str) -> None:
    found = found_with(make(), uniques=(frozenset({"x"}),))
    kind = pa.float64() if why == "no exact keys" else pa.string()
    with pytest.raises(TableError, match=why) as raised:
        target_of(sqlserver.DIALECT, found, {"x": kind}, keys=["x"])
    if "CI_AS" in why:
        assert raised.value.sql == (
            "ALTER TABLE [app].[readings] ALTER COLUMN [x]"
            " nvarchar(10) COLLATE Latin1_General_100_BIN2;"
        )


def test_a_text_of_sql_server_orders_no_rows_and_its_key_has_no_space_behind() -> None:
    text = of_sqlserver("nvarchar", length=20, **BIN2)
    found = found_with(text, uniques=(frozenset({"x"}),))
    merged = target_of(sqlserver.DIALECT, found, {"x": pa.string()}, keys=["x"])
    batch = pa.RecordBatch.from_pydict({"x": ["a "]})
    with pytest.raises(InexactError):
        values_of(merged.fields, batch)
    with pytest.raises(TableError, match="orders by other rules"):
        target_of(sqlserver.DIALECT, found, {"x": pa.string()}, keys=["x"], sequence_by="x")


def test_a_merge_keeps_the_newest_row_and_of_two_with_one_time_the_larger() -> None:
    """NULL is the oldest time, and the largest of other values: in a real database, SQLite."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute('CREATE TABLE "app.readings" (id INTEGER PRIMARY KEY, at INTEGER, x TEXT)')
    found = sqlite.DIALECT.find(connection, "app.readings")
    assert found is not None
    schema = {"id": pa.int64(), "at": pa.int64(), "x": pa.string()}
    target = target_of(sqlite.DIALECT, found, schema, keys=["id"], sequence_by="at")
    merge = Merge(dialect=sqlite.DIALECT, connection=connection, target=target)
    rows = [(1, None, "z"), (1, 5, "a"), (1, 5, "b"), (2, 7, "z"), (2, 7, None), (3, None, "a")]
    for part in (rows, rows[::-1], [(3, 1, "b"), (1, 4, "z")]):
        merge.stage()
        connection.executemany("INSERT INTO holdfast_batch VALUES (?, ?, ?)", part)
        merge.merge()
    kept = connection.execute('SELECT * FROM "app.readings" ORDER BY id').fetchall()
    connection.close()
    assert kept == [(1, 5, "b"), (2, 7, None), (3, 1, "b")]
