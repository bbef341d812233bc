"""What is read from PostgreSQL for a proof: exact values, and none that could be mistaken."""

from __future__ import annotations

import datetime as dt
import math
import struct
from contextlib import nullcontext
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.sinks.postgres.decode import Beyond, canonical_json, find_decoder, shown_time
from holdfast.sinks.postgres.read_rows import ReadColumn, read_rows
from tests.stand_ins import stand_in

BEFORE_2000 = 946_684_800_000_000
"""Microseconds from 1970 to 2000."""


def sent(number: int, size: int) -> bytes:
    return number.to_bytes(size, "big", signed=True)


def number(text: str) -> bytes:
    """A numeric as PostgreSQL sends it, by an encoding of its own: from the text."""
    value = Decimal(text)
    if not value.is_finite():
        signs = {"NaN": 0xC000, "Infinity": 0xD000, "-Infinity": 0xF000}
        return struct.pack(">hhHh", 0, 0, signs[text], 0)
    whole, _, fraction = format(value.copy_abs(), "f").partition(".")
    whole = whole.zfill(-(-len(whole) // 4) * 4)
    fraction = fraction.ljust(-(-len(fraction) // 4) * 4, "0")
    groups = [int((whole + fraction)[at : at + 4]) for at in range(0, len(whole + fraction), 4)]
    head = struct.pack(
        ">hhHh", len(groups), len(whole) // 4 - 1, 0x4000 if value < 0 else 0, len(fraction)
    )
    return head + struct.pack(f">{len(groups)}h", *groups)


def array(*values: bytes | None, first: int = 1, dimensions: int = 1) -> bytes:
    parts = [b"\xff\xff\xff\xff" if each is None else sent(len(each), 4) + each for each in values]
    return struct.pack(">iiiii", dimensions, 1, 20, len(values), first) + b"".join(parts)


@pytest.mark.parametrize(
    ("kind", "read", "value"),
    [
        ("timestamptz", sent(0, 8), BEFORE_2000),
        ("timestamptz", sent(-BEFORE_2000 - 1, 8), -1),
        ("timestamptz", sent(2**63 - 1, 8), Beyond("infinity")),
        ("timestamptz", sent(-(2**63), 8), Beyond("-infinity")),
        ("timestamptz", sent(2**63 - 2, 8), Beyond("+294277-01-09 04:00:54.775806")),
        ("timestamp", sent(0, 8), "2000-01-01 00:00:00"),
        ("timestamp", sent(-500_000, 8), "1999-12-31 23:59:59.5"),
        ("timestamp", sent(2**63 - 1, 8), Beyond("infinity")),
        ("date", sent(-10_957, 4), 0),
        ("date", sent(2**31 - 1, 4), Beyond("infinity")),
        ("float8", struct.pack(">d", -0.0), -0.0),
        ("float4", struct.pack(">f", 0.1), 0.10000000149011612),
        ("uuid", bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        ("bpchar", b"ab ", "ab "),
        ("jsonb", b'\x01{"b": [1.50, "x"], "a": null}', '{"a":null,"b":[15e-1,"x"]}'),
        ("_int8", struct.pack(">iii", 0, 0, 20), []),
        ("_int8", array(sent(5, 8), None), [5, None]),
        ("_float4", array(struct.pack(">f", 0.1)), [0.10000000149011612]),
        ("_date", array(sent(2**31 - 1, 4), None), Beyond("{infinity, None}")),
    ],
)
def test_values_are_those_of_the_server(kind: str, read: bytes, value: Any) -> None:
    found = find_decoder(kind)(read)
    assert found == value
    assert type(found) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, found) == math.copysign(1, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", Decimal("1.50")),
        ("1.50", Decimal("1.50")),
        ("0", Decimal("0.00")),
        ("-0.01", Decimal("-0.01")),
        ("12345678.9", Decimal("12345678.90")),
        ("10000", Decimal("10000.00")),
        ("1.005", Beyond("1.005")),
        ("NaN", Beyond("NaN")),
        ("-Infinity", Beyond("-Infinity")),
        ("1" + "0" * 40, Beyond("1" + "0" * 40)),
        ("9" * 36, Decimal("9" * 36)),
        ("9" * 36 + ".99", Decimal("9" * 36 + ".99")),
    ],
)
def test_a_number_that_the_stream_cannot_have_is_told_from_all_it_can(
    text: str, value: Decimal | Beyond
) -> None:
    assert find_decoder("numeric", scale=2)(number(text)) == value
    alone = [value] if isinstance(value, Decimal) else Beyond(f"{{{value.display_name}}}")
    assert find_decoder("_numeric", scale=2)(array(number(text))) == alone


def test_an_array_of_another_shape_is_none_of_a_stream() -> None:
    decode = find_decoder("_int8")
    assert decode(array(sent(5, 8), first=0)) != [5]
    two = struct.pack(">iiiiiii", 2, 0, 20, 1, 1, 1, 1) + sent(8, 4) + sent(5, 8)
    assert isinstance(decode(two), Beyond)


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-11-17T12:34:56.789012", "2026-11-17 12:34:56.789012"),
        ("0001-01-01T00:00:00", "0001-01-01 00:00:00"),
        ("9999-12-31T23:59:59.100000", "9999-12-31 23:59:59.1"),
        ("2024-02-29T00:00:00", "2024-02-29 00:00:00"),
        ("1900-03-01T00:00:00", "1900-03-01 00:00:00"),
    ],
)
def test_a_time_is_shown_as_spark_does(time: str, shown: str) -> None:
    since = dt.datetime.fromisoformat(time) - dt.datetime(1970, 1, 1)  # noqa: DTZ001 - no zone
    assert shown_time(since // dt.timedelta(microseconds=1)) == shown


def test_days_of_years_that_python_does_not_have() -> None:
    year_0 = -719_528 * 86_400_000_000  # 1 BC, a leap year
    assert shown_time(year_0) == "0000-01-01 00:00:00"
    assert shown_time(year_0 - 1) == "-0001-12-31 23:59:59.999999"
    assert shown_time(253_402_300_800_000_000) == "+10000-01-01 00:00:00"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"a": 1, "b": 2}', '{"b":2.0,"a":1}', True),
        ('{"a": 1, "a": 2}', '{"a": 2}', True),
        ("1e2", "100", True),
        ("-0", "0", True),
        (r'"\u00e9"', '"é"', True),
        ("[1, 2]", "[2, 1]", False),
        ("1", '"1"', False),
        ("null", '"null"', False),
        ('{"a": null}', "{}", False),
        ("100000000000000000001", "100000000000000000000", False),
        ('"a "', '"a"', False),
    ],
)
def test_json_is_compared_by_its_values(one: str, other: str, *, same: bool) -> None:
    assert (canonical_json(one) == canonical_json(other)) is same


@pytest.mark.parametrize(
    ("kind", "selected"),
    [
        ("timestamptz", 'pg_catalog.timestamptz_send("a""b")'),
        ("date", 'pg_catalog.date_send("a""b")'),
        ("uuid", 'pg_catalog.uuid_send("a""b")'),
        ("json", '"a""b"::text'),
        ("int8", '"a""b"'),
        ("bpchar", 'pg_catalog.bpcharsend("a""b")'),
        ("_text", 'pg_catalog.array_send("a""b")'),
    ],
)
def test_what_is_selected(kind: str, selected: str) -> None:
    assert ReadColumn(name='a"b', kind=kind).selected == selected


def test_a_row_keeps_its_other_values_beside_one_that_the_stream_cannot_have() -> None:
    chunks: list[list[Any]] = [[(1, sent(2**31 - 1, 4)), (2, None)], [(3, sent(-10_957, 4))], []]
    cursor = SimpleNamespace(execute=lambda _: None, fetchmany=lambda _: chunks.pop(0))
    connection = SimpleNamespace(execute=lambda _: None, cursor=lambda **_: nullcontext(cursor))
    columns = (ReadColumn(name="id", kind="int8"), ReadColumn(name="at", kind="date"))
    assert list(read_rows(stand_in(connection), "readings", columns)) == [
        [(1, None, '{"at": "infinity"}'), (2, None, None)],
        [(3, 0, None)],
    ]
