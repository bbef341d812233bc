"""Every type of PostgreSQL that the sink writes, and what is planted into it."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa

from campaigns.prove_faults.columns import (
    ALL_NINES,
    DAY_US,
    IDES,
    MONEY,
    NO_ZONE,
    SMALLEST,
    UUID,
    WITH_ZONE,
    YEAR_10000_US,
    Column,
)


def column(name: str, arrow: Any, value: Any, *of_table: Any) -> Column:
    """Return a column: its type and value in the source and in the table, and its faults."""
    target, written, faults = of_table
    return Column(
        name=name, arrow=arrow, value=value, target=target, written=written, faults=faults
    )


SCALARS = (
    column(
        "a_bool",
        pa.bool_(),
        True,
        "boolean",
        "true",
        {"the other one": "false", "NULL instead of it": "NULL"},
    ),
    column("a_short", pa.int16(), 7, "smallint", "7", {"one more": "8"}),
    column("a_wide", pa.int32(), -7, "bigint", "-7", {"the same 32 bits": "4294967289"}),
    column("a_real", pa.float32(), 0.1, "real", "0.1", {"the last bit": "0.10000001"}),
    column("a_float", pa.float32(), 0.1, "float8", "0.1::float4::float8", {"of 64 bits": "0.1"}),
    column(
        "a_sum", pa.float64(), 0.1 + 0.2, "float8", "0.30000000000000004", {"the last bit": "0.3"}
    ),
    column("a_zero", pa.float64(), -0.0, "float8", "'-0'", {"the sign of zero": "'0'"}),
    column(
        "a_nan",
        pa.float64(),
        math.nan,
        "float8",
        "'NaN'",
        {"infinity": "'Infinity'", "NULL instead of it": "NULL"},
    ),
    column(
        "endless",
        pa.float64(),
        math.inf,
        "float8",
        "'Infinity'",
        {"the sign": "'-Infinity'", "the largest": "1.7976931348623157e308"},
    ),
    column(
        "a_price",
        MONEY,
        Decimal("1.50"),
        "numeric",
        "1.50",
        {"beyond its scale": "1.501", "NaN": "'NaN'", "the sign": "-1.50"},
    ),
    column(
        "the_most",
        pa.decimal128(38, 0),
        ALL_NINES,
        "numeric",
        "9" * 38,
        {"a digit more": "100000000000000000000000000000000000000", "infinity": "'Infinity'"},
    ),
    column(
        "the_least",
        pa.decimal128(38, 18),
        SMALLEST,
        "numeric(38,18)",
        "0.000000000000000001",
        {"the last digit": "0.000000000000000002"},
    ),
    column(
        "a_text",
        pa.string(),
        "é a",
        "text",
        "'\u00e9 a'",
        {
            "composed otherwise": "'e\u0301 a'",
            "a space at the end": "'\xe9 a '",
            "the case": "'\xc9 a'",
        },
    ),
    column(
        "no_text", pa.string(), "", "text", "''", {"NULL instead of it": "NULL", "a space": "' '"}
    ),
    column("a_varchar", pa.string(), "x ", "varchar(9)", "'x '", {"no space at the end": "'x'"}),
    column(
        "a_char",
        pa.string(),
        "x y",
        "char(3)",
        "'x y'",
        {"padded": "'x'", "another letter": "'x z'"},
    ),
    column(
        "some_bytes",
        pa.binary(),
        b"\x00\xff",
        "bytea",
        r"'\x00ff'",
        {"one byte less": r"'\x00'", "none": "''"},
    ),
    column(
        "a_day",
        pa.date32(),
        IDES,
        "date",
        "'0044-03-15 BC'",
        {"a year later": "'0043-03-15 BC'", "infinity": "'infinity'"},
    ),
    column(
        "a_time",
        WITH_ZONE,
        1,
        "timestamptz",
        "'1970-01-01 00:00:00.000001Z'",
        {
            "a microsecond": "'1970-01-01 00:00:00.000002Z'",
            "infinity": "'infinity'",
            "after Spark's last": "'294276-12-31 23:59:59Z'",
        },
    ),
    column(
        "a_late_time",
        NO_ZONE,
        YEAR_10000_US,
        "timestamp",
        "'10000-01-01 00:00:00'",
        {"a second": "'10000-01-01 00:00:01'"},
    ),
    column(
        "an_early_time",
        NO_ZONE,
        IDES * DAY_US + 500_000,
        "timestamp",
        "'0044-03-15 00:00:00.5 BC'",
        {"after Christ": "'0044-03-15 00:00:00.5'"},
    ),
    column(
        "a_uuid",
        pa.string(),
        UUID.upper(),
        "uuid",
        f"'{UUID}'",
        {"the last digit": "'0e37df36-f698-11e6-8dd4-cb9ced3df977'"},
    ),
    column(
        "a_json",
        pa.string(),
        '{"a" : 1}',
        "json",
        """'{"a" : 1}'""",
        {"without its spaces": "'{\"a\":1}'"},
    ),
    column(
        "a_jsonb",
        pa.string(),
        '{"b": 2, "a": [1.0]}',
        "jsonb",
        """'{"a":[1.0],"b":2}'""",
        {"a number": '\'{"a":[1.1],"b":2}\'', "a key more": '\'{"a":[1.0],"b":2,"c":null}\''},
    ),
    column("nothing", pa.int64(), None, "bigint", "NULL", {"0 for NULL": "0"}),
)
