"""What is read from PostgreSQL for a proof: exact values, and none that could be mistaken."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from holdfast.sinks.postgres.read_rows import ReadColumn

NOT_THE_STREAMS = Decimal("9" * 36 + ".99")


def sent(number: int, size: int) -> bytes:
    return number.to_bytes(size, "big", signed=True)


@pytest.mark.parametrize(
    ("kind", "read", "value"),
    [
        ("timestamptz", sent(0, 8), 946_684_800_000_000),
        ("timestamptz", sent(-946_684_800_000_001, 8), -1),
        ("timestamptz", sent(2**63 - 1, 8), 2**63 - 1),
        ("timestamptz", sent(-(2**63), 8), -(2**63) + 946_684_800_000_000),
        ("date", sent(-10_957, 4), 0),
        ("date", sent(2**31 - 1, 4), 2**31 - 1),
        ("text", "x", "x"),
        ("int8", 7, 7),
    ],
)
def test_values_are_those_of_the_server(kind: str, read: Any, value: Any) -> None:
    column = ReadColumn(name="a", kind=kind)
    assert column.value(read) == value
    assert column.value(None) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", Decimal("1.50")),
        ("-0.01", Decimal("-0.01")),
        ("1.005", NOT_THE_STREAMS),
        ("NaN", NOT_THE_STREAMS),
        ("Infinity", NOT_THE_STREAMS),
        ("1" + "0" * 40, NOT_THE_STREAMS),
        ("9" * 36, Decimal("9" * 36)),
    ],
)
def test_a_number_that_the_stream_cannot_have_is_told_from_all_it_can(
    text: str, value: Decimal
) -> None:
    assert ReadColumn(name="a", kind="numeric", scale=2).value(text) == value


@pytest.mark.parametrize(
    ("kind", "selected"),
    [
        ("timestamptz", 'timestamptz_send("a""b")'),
        ("date", 'date_send("a""b")'),
        ("uuid", '"a""b"::text'),
        ("json", '"a""b"::text'),
        ("int8", '"a""b"'),
        ("_text", '"a""b"'),
    ],
)
def test_what_is_selected(kind: str, selected: str) -> None:
    assert ReadColumn(name='a"b', kind=kind).selected == selected
