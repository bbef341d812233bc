"""A value arrives as it is, or its batch does not: what type modifiers and ends of ranges do."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.sinks.failures import TableError, ValueRefusedError
from holdfast.sinks.postgres.connect import connect
from holdfast.sinks.postgres.ledger_rows import read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.write import write_batch
from lab import Postgres
from tests.ledger_rows import ROW, attempt

Connection = psycopg.Connection[Any]
UTC_US = pa.timestamp("us", "UTC")
DECIMAL = pa.decimal128(20, 4)
SECOND = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        yield connection


def column(values: list[Any], kind: Any) -> Any:
    return pa.record_batch({"v": pa.array(values, kind)})


def table_of(connection: Connection, column_type: str, kind: Any) -> Any:
    connection.execute(f"CREATE TABLE readings (v {column_type})".encode())
    assert replace_row(connection, None, ROW, target="readings")
    return check_table(connection, "readings", pa.schema([("v", kind)]))


EXACT: dict[str, tuple[str, Any, list[Any]]] = {
    "numeric(20,4)": ("numeric(20,4)", DECIMAL, [Decimal("1.2355"), None]),
    "numeric": ("numeric", DECIMAL, [Decimal("-1.2355")]),
    "timestamptz(0), whole seconds": ("timestamptz(0)", UTC_US, [SECOND, None]),
    "timestamptz(3), milliseconds": (
        "timestamptz(3)",
        UTC_US,
        [SECOND.replace(microsecond=123_000)],
    ),
    "varchar(5)": ("varchar(5)", pa.string(), ["abcde", "añb", "", None]),
    "varchar(5), blanks that fit": ("varchar(5)", pa.string(), ["abc  "]),
    "char(2)": ("char(2)", pa.string(), ["CH", "añ", None]),
    "date": ("date", pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None]),
}
CHANGED: dict[str, tuple[str, Any, list[Any]]] = {
    "a fraction of a second": ("timestamptz(0)", UTC_US, [SECOND.replace(microsecond=900_000)]),
    "microseconds": ("timestamp(3)", pa.timestamp("us"), [1_000_001]),
    "before 1970": ("timestamp(0)", pa.timestamp("us"), [-1]),
    "blanks that varchar cuts": ("varchar(5)", pa.string(), ["abc      "]),
    "a text that char pads": ("char(5)", pa.string(), ["ab"]),
    "elements of a list": ("varchar(2)[]", pa.list_(pa.string()), [["ab", "abc"]]),
    "a date that is -infinity": ("date", pa.date32(), [-(2**31) + 10_957]),
    "a time that is -infinity": ("timestamptz", UTC_US, [-(2**63) + 946_684_800_000_000]),
    "a uuid that is none": ("uuid", pa.string(), ["not a uuid"]),
}
REFUSED: dict[str, tuple[str, Any]] = {
    "fewer digits after the point": ("numeric(10,2)", DECIMAL),
    "rounded to tens": ("numeric(10,-1)", pa.decimal128(20, 0)),
    "elements with fewer digits": ("numeric(10,2)[]", pa.list_(DECIMAL)),
    "a type of one's own with a known name": ("int8_", pa.int64()),
}


@pytest.mark.parametrize(("column_type", "kind", "values"), EXACT.values(), ids=list(EXACT))
def test_what_the_column_holds_arrives_as_it_is(
    connection: Connection, column_type: str, *, kind: Any, values: list[Any]
) -> None:
    target = table_of(connection, column_type, kind)
    write_batch(connection, target, attempt(0), batches=[column(values, kind)])
    found = [row[0] for row in connection.execute("SELECT v FROM readings")]
    assert found == values


@pytest.mark.parametrize(("column_type", "kind", "values"), CHANGED.values(), ids=list(CHANGED))
def test_a_value_that_would_be_changed_is_refused_with_its_batch(
    connection: Connection, column_type: str, *, kind: Any, values: list[Any]
) -> None:
    target = table_of(connection, column_type, kind)
    with pytest.raises(ValueRefusedError) as refused:
        write_batch(connection, target, attempt(0), batches=[column(values, kind)])
    assert (refused.value.column, refused.value.code) == ("v", "VALUE_REFUSED")
    assert connection.execute("SELECT v FROM readings").fetchall() == []
    assert read_row(connection, "readings", "readings") == ROW


@pytest.mark.parametrize(("column_type", "kind"), REFUSED.values(), ids=list(REFUSED))
def test_a_column_that_would_round_is_refused_at_the_start(
    connection: Connection, column_type: str, *, kind: Any
) -> None:
    connection.execute("CREATE DOMAIN int8_ AS bigint")
    with pytest.raises(TableError, match="Its column v is"):
        table_of(connection, column_type, kind)


def test_the_newer_row_wins_because_its_time_is_never_rounded(connection: Connection) -> None:
    connection.execute("CREATE TABLE readings (k bigint PRIMARY KEY, t timestamptz(0), z text)")
    assert replace_row(connection, None, ROW, target="readings")
    schema = pa.schema([("k", pa.int64()), ("t", UTC_US), ("z", pa.string())])
    target = check_table(connection, "readings", schema, keys=["k"], sequence_by="t")
    times = [SECOND.replace(microsecond=900_000), SECOND.replace(microsecond=600_000)]
    batch = pa.record_batch(
        [pa.array([1, 1]), pa.array(times, UTC_US), pa.array(["newer", "older-z"])], schema=schema
    )
    with pytest.raises(ValueRefusedError, match="rounded"):
        write_batch(connection, target, attempt(0), batches=[batch])


ENCODINGS: dict[str, tuple[str, str, str]] = {
    "another character": ("EUC_JP", "text", "a\u00a6b"),
    "another character in a list": ("EUC_JP", "text[]", "a\u00a6b"),
    "another character by an escape": ("EUC_JP", "jsonb", '"\\u00A6"'),
    "one character for two, padded": ("EUC_JIS_2004", "char(2)", "\u304b\u309a"),
    "blanks cut, counted in bytes": ("SQL_ASCII", "varchar(4)", "\u00e9   "),
}


@pytest.mark.parametrize("case", ENCODINGS.values(), ids=list(ENCODINGS))
def test_a_text_that_the_encoding_of_the_database_would_change_is_refused(
    postgres: Postgres, case: tuple[str, str, str]
) -> None:
    encoding, column_type, text = case
    name = f"{encoding.lower()}_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0".encode()
        )
    is_list = column_type.endswith("[]")
    kind = pa.list_(pa.string()) if is_list else pa.string()
    with connect(lambda: postgres.dsn(name)) as connection:
        ensure_tables(connection)
        target = table_of(connection, column_type, kind)
        fine = "ab" if column_type != "jsonb" else '"ab"'
        kept, lost = ([[fine]], [[text]]) if is_list else ([fine], [text])
        write_batch(connection, target, attempt(0), batches=[column(kept, kind)])
        with pytest.raises(ValueRefusedError):
            write_batch(connection, target, attempt(1), batches=[column(lost, kind)])
        assert connection.execute("SELECT count(*) FROM readings").fetchall() == [(1,)]


def test_a_character_that_the_encoding_lacks_is_refused_by_the_server(postgres: Postgres) -> None:
    name = f"latin_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0".encode()
        )
    with connect(lambda: postgres.dsn(name)) as connection:
        ensure_tables(connection)
        target = table_of(connection, "text", pa.string())
        written = column(["\u00e9\u00a6"], pa.string())
        write_batch(connection, target, attempt(0), batches=[written])
        missing = column(["fine", "\u65e5"], pa.string())
        with pytest.raises(psycopg.errors.UntranslatableCharacter):
            write_batch(connection, target, attempt(1), batches=[missing])
        assert connection.execute("SELECT v FROM readings").fetchall() == [("\u00e9\u00a6",)]
