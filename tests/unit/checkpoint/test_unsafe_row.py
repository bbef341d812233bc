"""Rows of state are decoded by their schema; what is not decoded is said by name."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.state.unsafe_row import Fields, NotDecoded, leaf_types, make_decoder
from tests.unit.checkpoint.unsafe_rows import row, struct_of

ALL = {
    "boolean": "boolean",
    "byte": "byte",
    "long": "long",
    "double": "double",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "short_decimal": "decimal(10,2)",
    "long_decimal": "decimal(38,3)",
    "window": struct_of(start="timestamp", end="timestamp"),
    "array": {"type": "array", "elementType": "integer", "containsNull": True},
}


def decode(schema: dict[str, Any], raw: bytes) -> Any:
    decoder = make_decoder(schema)
    assert callable(decoder)
    return decoder(raw)


def only(kind: Any, raw: bytes) -> Any:
    found = decode(struct_of(x=kind), raw)
    return found.items[0][1] if isinstance(found, Fields) else found


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("boolean", 1, True),
        ("boolean", 0, False),
        ("byte", -128, -128),
        ("short", -32768, -32768),
        ("integer", -(2**31), -(2**31)),
        ("long", 2**63 - 1, 2**63 - 1),
        ("float", (struct.pack("<f", 1.5),), 1.5),
        ("double", (struct.pack("<d", -0.1),), -0.1),
        ("string", "größe 🚀".encode(), "größe 🚀"),
        ("string", b"", ""),
        ("varchar(10)", b"abc", "abc"),
        ("string", b"caf\xe9", "caf\udce9"),
        ("binary", b"\0\xff", b"\0\xff"),
        ("date", 20_000, date(2024, 10, 4)),
        ("date", -1, date(1969, 12, 31)),
        ("timestamp", 1_767_225_600_000_001, datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
        ("timestamp_ntz", 1_767_225_600_000_000, datetime(2026, 1, 1)),  # noqa: DTZ001
        ("decimal(10,2)", -12345, Decimal("-123.45")),
        ("decimal(38,3)", (-(10**37)).to_bytes(16, "big", signed=True), Decimal(-(10**34))),
        ("decimal(20,0)", b"\x7f", Decimal(127)),
        ("void", None, None),
    ],
)
def test_a_value_is_what_spark_wrote(kind: str, field: Any, value: Any) -> None:
    found = only(kind, row(field))
    assert (found, type(found)) == (value, type(value))


def test_null_is_null_in_any_of_many_columns() -> None:
    schema = struct_of(**{f"c{n}": "long" for n in range(130)})
    fields = [None if n % 7 == 0 else n for n in range(130)]
    assert [value for _, value in decode(schema, row(*fields)).items] == fields


def test_a_struct_in_a_struct() -> None:
    window = struct_of(start="timestamp", end="timestamp")
    found = decode(struct_of(window=window, k="string"), row(row(0, 10_000_000), b"a"))
    start, end = datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 10, tzinfo=UTC)
    assert found == Fields((("window", Fields((("start", start), ("end", end)))), ("k", "a")))
    assert list(leaf_types(struct_of(window=window, k="string"))) == [
        ("window.start", "timestamp"),
        ("window.end", "timestamp"),
        ("k", "string"),
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ({"type": "array", "elementType": "string", "containsNull": True}, "array<string>"),
        (
            {
                "type": "map",
                "keyType": "string",
                "valueType": {"type": "array", "elementType": "long"},
            },
            "map<string,array<long>>",
        ),
        ("interval day to second", "interval day to second"),
        ("variant", "variant"),
        ({"type": "udt", "class": "x"}, "udt"),
        (None, "unknown type"),
        (7, "unknown type"),
        ("decimal(999,1)", "decimal(999,1)"),
    ],
)
def test_what_is_not_decoded_has_its_name_and_the_columns_beside_it_are(
    kind: Any, name: str
) -> None:
    found = decode(struct_of(a="long", x=kind, b="string"), row(1, b"12345678", b"z"))
    assert found == Fields((("a", 1), ("x", NotDecoded(name)), ("b", "z")))


def test_times_that_no_calendar_here_has_are_not_guessed() -> None:
    assert only("date", row(2**31 - 1)) == NotDecoded("date 2147483647 days after 1970")
    assert only("timestamp", row(2**63 - 1)) == NotDecoded(
        "timestamp 9223372036854775807 microseconds after 1970"
    )


@pytest.mark.parametrize(
    "raw",
    [b"", bytes(8), bytes(8) + struct.pack("<II", 2**31, 2**31), bytes(8) + b"\xff" * 8],
)
def test_bytes_that_do_not_fit_are_not_decoded(raw: bytes) -> None:
    assert only("string", raw) == NotDecoded("bytes that do not fit the schema")


@pytest.mark.parametrize("schema", [{}, {"fields": 1}, {"fields": [1]}, {"fields": [None]}])
def test_a_schema_that_is_none_is_said(schema: dict[str, Any]) -> None:
    assert make_decoder(schema) == NotDecoded("a schema that is not a struct")


def test_a_schema_deeper_than_any_ends() -> None:
    schema = struct_of(x="long")
    for _ in range(500):
        schema = struct_of(x=schema)
    decode(schema, bytes(16))
    assert [kind for _, kind in leaf_types(schema)] == ["long"]


@given(st.binary(max_size=300))
def test_no_bytes_raise(raw: bytes) -> None:
    decode(struct_of(**ALL), raw)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.none() | st.binary(max_size=40), max_size=12))
def test_no_row_raises(fields: list[Any]) -> None:
    decode(struct_of(**ALL), row(*fields))
