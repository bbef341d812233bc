"""Every type of Delta that the sink writes, nested too, and what is planted into it."""

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
    WITH_ZONE,
    YEAR_10000_US,
    Column,
)


def column(name: str, arrow: Any, value: Any, *of_table: Any) -> Column:
    """Return a column: its type and value in the source, and its faults."""
    (faults,) = of_table
    return Column(name=name, arrow=arrow, value=value, faults=faults)


_POINT = pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.string()))])
_PRICES = pa.map_(pa.string(), pa.list_(MONEY))

DELTA = (
    column("a_bool", pa.bool_(), True, {"the other one": "false", "NULL instead of it": "NULL"}),
    column("a_byte", pa.int8(), 7, {"one more": "tinyint(8)"}),
    column("a_short", pa.int16(), 7, {"one more": "smallint(8)"}),
    column("an_int", pa.int32(), -7, {"the sign": "7"}),
    column("a_long", pa.int64(), 2**53 + 1, {"as a double has it": "9007199254740992L"}),
    column("a_float", pa.float32(), 0.1, {"the last bit": "float('0.10000001')"}),
    column("a_double", pa.float64(), 0.1 + 0.2, {"the last bit": "0.3D"}),
    column("a_zero", pa.float64(), -0.0, {"the sign of zero": "double('0.0')"}),
    column(
        "a_nan",
        pa.float64(),
        math.nan,
        {"infinity": "double('Infinity')", "NULL instead of it": "NULL"},
    ),
    column("a_price", MONEY, Decimal("1.50"), {"the last digit": "1.51BD"}),
    column(
        "the_most",
        pa.decimal128(38, 0),
        ALL_NINES,
        {"the last digit": "99999999999999999999999999999999999998BD"},
    ),
    column(
        "the_least", pa.decimal128(38, 18), SMALLEST, {"the last digit": "0.000000000000000002BD"}
    ),
    column(
        "a_text",
        pa.string(),
        "é a",
        {
            "composed otherwise": "'e\u0301 a'",
            "a space at the end": "'\xe9 a '",
            "the case": "'\xc9 a'",
        },
    ),
    column("no_text", pa.string(), "", {"NULL instead of it": "NULL", "a space": "' '"}),
    column("some_bytes", pa.binary(), b"\x00\xff", {"one byte less": "X'00'", "none": "X''"}),
    column("a_day", pa.date32(), IDES, {"a day later": "date_add(a_day, 1)"}),
    column("a_time", WITH_ZONE, 1, {"a microsecond": "timestamp_micros(2)"}),
    column(
        "a_late_time",
        NO_ZONE,
        YEAR_10000_US,
        {"a microsecond": "a_late_time + INTERVAL '0.000001' SECOND"},
    ),
    column(
        "an_early_time",
        NO_ZONE,
        IDES * DAY_US + 500_000,
        {"a day": "an_early_time + INTERVAL '1' DAY"},
    ),
    column(
        "longs",
        pa.list_(pa.int64()),
        [2**53 + 1, None],
        {
            "an element": "array(9007199254740992L, NULL)",
            "the order": "array(NULL, 9007199254740993L)",
            "0 for NULL": "array(9007199254740993L, 0L)",
        },
    ),
    column(
        "zeros",
        pa.list_(pa.float64()),
        [0.0],
        {"the sign of zero": "array(double('-0.0'))", "one more": "array(0D, 0D)"},
    ),
    column("floats", pa.list_(pa.float32()), [0.1], {"the last bit": "array(float('0.10000001'))"}),
    column("prices", pa.list_(MONEY), [Decimal("1.10")], {"the last digit": "array(1.11BD)"}),
    column(
        "no_texts",
        pa.list_(pa.string()),
        [],
        {
            "NULL instead of it": "NULL",
            "one NULL": "array(cast(NULL as string))",
            "one empty": "array('')",
        },
    ),
    column(
        "nested",
        pa.list_(pa.list_(pa.int32())),
        [[], [1]],
        {"the order": "array(array(1), array())", "NULL for none": "array(NULL, array(1))"},
    ),
    column(
        "a_point",
        _POINT,
        {"x": 0.5, "tags": ["a", None]},
        {
            "a field": "named_struct('x', 0.25D, 'tags', a_point.tags)",
            "an element of a field": "named_struct('x', a_point.x, 'tags', array('a', ''))",
            "NULL for a field": "named_struct('x', cast(NULL as double), 'tags', a_point.tags)",
            "NULL instead of it": "NULL",
        },
    ),
    column(
        "points",
        pa.list_(_POINT),
        [{"x": -0.0, "tags": []}],
        {
            "the sign of zero": "transform(points, p -> named_struct('x', 0D, 'tags', p.tags))",
            "NULL for none": "array(named_struct('x', double('-0.0'), 'tags', "
            "cast(NULL as array<string>)))",
        },
    ),
    column(
        "a_map",
        pa.map_(pa.string(), pa.int32()),
        [("a", 1), ("b", None)],
        {
            "a value": "map('a', 2, 'b', NULL)",
            "a key": "map('A', 1, 'b', NULL)",
            "an entry less": "map('a', 1)",
            "0 for NULL": "map('a', 1, 'b', 0)",
        },
    ),
    column(
        "price_lists",
        _PRICES,
        [("a", [Decimal("1.00")])],
        {"an element": "map('a', array(1.01BD))", "one more": "map('a', array(1.00BD, 1.00BD))"},
    ),
    column("nothing", pa.int64(), None, {"0 for NULL": "0L"}),
)
