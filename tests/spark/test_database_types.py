"""`hf.Database`, value by value: what arrives is what was sent, or it is refused by name."""

from __future__ import annotations

import math
import struct
from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from holdfast.ledger import Apply
from holdfast.sinks.database.contents import decode
from holdfast.sinks.failures import TableError, ValueRefusedError
from tests.spark.database_writers import Into, batch_of, schema_of, without_spark

NAIVE = datetime
"""As timestamp_ntz has them: what a clock on the wall shows, without a zone."""
FLOAT = struct.unpack("f", struct.pack("f", 0.1))[0]
SMALLEST, LARGEST = 5e-324, 1.7976931348623157e308
TEXTS = [
    "",
    " ",
    "a",
    "ü'\n\t\\\r\0\x1a",
    "\\N",
    "NULL",
    "😀",
    '"',
    "end ",
    "%s ?",
    "日本",
    "'); --",
]
SPECIMENS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "byte": [-128, 127],
    "short": [-32768, 32767],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1, 0],
    "float": [FLOAT, 3.4028234663852886e38, -1.5, 1.401298464324817e-45, 0.0],
    "double": [0.1, SMALLEST, LARGEST, -LARGEST, 1 / 3, 0.0, 1e22, 123456789.123456789],
    "decimal(38,9)": [
        Decimal("-99999999999999999999999999999.999999999"),
        Decimal("1E-9"),
        Decimal("0E-9"),
    ],
    "decimal(9,7)": [Decimal("0.0000001"), Decimal("-12.5000000")],
    "string": TEXTS,
    "binary": [b"", b"\0\xff'\\\n\t", bytes(range(256))],
    "date": [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)],
    "timestamp": [
        datetime(2026, 3, 29, 2, 30, 0, 1, UTC),
        datetime(2038, 1, 19, 3, 14, 7, 999999, UTC),
    ],
    "timestamp_ntz": [
        NAIVE(1, 1, 1),
        NAIVE(2026, 3, 29, 2, 30, 0, 1),
        NAIVE(9999, 12, 31, 23, 59, 59, 999999),
    ],
}


pytestmark = pytest.mark.sampled(8)


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    without_spark(monkeypatch)


@pytest.fixture(params=["insert", "load", "sqlite"])
def into(request: pytest.FixtureRequest, tmp_path: Path) -> Into:
    server = None if request.param == "sqlite" else request.getfixturevalue("mariadb")
    return Into.make(request.param, mariadb=server, directory=tmp_path)


def suggested(into: Into, schema: StructType) -> str:
    """Return the statement that the refusal of a missing table names."""
    into.schema = schema
    with pytest.raises(TableError) as refused:
        into.start()
    return refused.value.sql


def test_values_of_every_type_arrive_exactly(into: Into) -> None:
    """Into the table that the error suggests, read by a driver, bit for bit."""
    names = [f"c{at}" for at in range(len(SPECIMENS))]
    schema = schema_of(**dict(zip(names, SPECIMENS, strict=True)))
    into.ask(suggested(into, schema))
    longest = max(map(len, SPECIMENS.values()))
    columns = [(*given, *[None] * (longest - len(given))) for given in SPECIMENS.values()]
    rows = [tuple(row) for row in zip(*columns, strict=True)]
    writer = into.first()
    assert writer.write(into.attempt(0), batch_of(schema, rows)) == Apply()
    dialect, connection = writer.ledger.session.dialect, writer.ledger.session.connection()
    selected = ", ".join(map(dialect.selected, writer.target.shape))
    found = dialect.ask(connection, f"SELECT {selected} FROM readings")
    kinds = [each.dataType for each in schema]
    read = [
        tuple(
            value if value is None else decode(value, kind)
            for value, kind in zip(row, kinds, strict=True)
        )
        for row in found
    ]
    assert Counter(map(repr, read)) == Counter(map(repr, rows))
    writer.close()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("double", math.nan),
        ("float", math.nan),
        ("double", -0.0),
        ("double", math.inf),
        ("date", date(9999, 12, 31)),
    ],
)
def test_a_value_that_would_change_is_refused(into: Into, *, kind: str, value: Any) -> None:
    schema = schema_of(x=kind)
    into.ask(suggested(into, schema))
    writer = into.first()
    fine = kind == "date" or (into.dialect == "sqlite" and value == math.inf)
    if fine:
        assert writer.write(into.attempt(0), batch_of(schema, [(value,)])) == Apply()
        assert into.rows().total() == 1
    else:
        with pytest.raises(ValueRefusedError) as refused:
            writer.write(into.attempt(0), batch_of(schema, [(1.5,), (value,)]))
        assert refused.value.column == "x"
        assert into.rows().total() == 0
    writer.close()


REFUSED_VALUES = [
    ("varchar(3) CHARACTER SET utf8mb4", "string", "abcd"),
    ("char(3) CHARACTER SET utf8mb4", "string", "ab "),
    ("tinytext CHARACTER SET utf8mb4", "string", "ü" * 128),
    ("text CHARACTER SET utf8mb3", "string", "😀"),
    ("varbinary(2)", "binary", b"abc"),
    ("binary(3)", "binary", b"ab"),
    ("bigint unsigned", "bigint", -1),
    ("decimal(5,2) unsigned", "decimal(5,2)", Decimal("-0.01")),
    ("datetime(3)", "timestamp_ntz", NAIVE(2026, 1, 1, 0, 0, 0, 1)),
    ("datetime", "timestamp_ntz", NAIVE(2026, 1, 1, 0, 0, 0, 500000)),
    ("timestamp(6) NULL", "timestamp", datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC)),
    ("timestamp(6) NULL", "timestamp", datetime(1970, 1, 1, tzinfo=UTC)),
    ("bigint NOT NULL", "bigint", None),
    ("bigint NOT NULL AUTO_INCREMENT PRIMARY KEY", "bigint", None),
    ("timestamp(6) NOT NULL", "timestamp", None),
]


@pytest.mark.parametrize(("column", "kind", "value"), REFUSED_VALUES)
@pytest.mark.parametrize("how", ["insert", "load"])
def test_mariadb_changes_no_value(
    request: pytest.FixtureRequest, tmp_path: Path, *, column: str, kind: str, value: Any, how: str
) -> None:
    into = Into.make(how, mariadb=request.getfixturevalue("mariadb"), directory=tmp_path)
    into.schema = schema_of(x=kind)
    into.create(f"x {column}")
    writer = into.first()
    with pytest.raises(ValueRefusedError):
        writer.write(into.attempt(0), batch_of(into.schema, [(value,)]))
    assert into.rows().total() == 0
    writer.close()


REFUSED_TYPES = [
    ("mariadb", "text CHARACTER SET latin1", "string"),
    ("mariadb", "enum('a')", "string"),
    ("mariadb", "int", "bigint"),
    ("mariadb", "int", "string"),
    ("mariadb", "float", "double"),
    ("mariadb", "float(7,2)", "float"),
    ("mariadb", "double unsigned", "double"),
    ("mariadb", "decimal(10,2)", "decimal(10,3)"),
    ("mariadb", "decimal(10,2)", "decimal(12,2)"),
    ("mariadb", "datetime(6)", "timestamp"),
    ("mariadb", "timestamp(6) NULL", "timestamp_ntz"),
    ("mariadb", "bit(1)", "boolean"),
    ("mariadb", "bigint, y bigint NOT NULL", "bigint"),
    ("mariadb", "bigint AS (1)", "bigint"),
    ("sqlite", "NUMERIC", "string"),
    ("sqlite", "INTEGER", "string"),
    ("sqlite", "TEXT", "bigint"),
    ("sqlite", "REAL", "bigint"),
    ("sqlite", "INTEGER", "double"),
    ("sqlite", "NUMERIC", "decimal(10,2)"),
    ("sqlite", "TEXT", "binary"),
]


@pytest.mark.parametrize(("dialect", "column", "kind"), REFUSED_TYPES)
def test_a_type_that_would_change_values_is_refused_before_any_batch(
    request: pytest.FixtureRequest, tmp_path: Path, *, dialect: str, column: str, kind: str
) -> None:
    server = request.getfixturevalue("mariadb") if dialect == "mariadb" else None
    into = Into.make(dialect, mariadb=server, directory=tmp_path)
    into.schema = schema_of(x=kind)
    into.create(f"x {column}")
    with pytest.raises(TableError):
        into.start()
