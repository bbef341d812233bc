"""Lengths of time as Delta's table properties write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from holdfast.formats.delta_intervals import parse_interval


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("interval 30 days", timedelta(days=30)),
        ("INTERVAL 1 WEEK", timedelta(days=7)),
        ("interval 1 day 12 hours", timedelta(hours=36)),
        ("interval 5 milliseconds", timedelta(milliseconds=5)),
        ("7 days", timedelta(days=7)),
        ("interval 2 minutes 5 seconds", timedelta(seconds=125)),
    ],
)
def test_an_interval(text: str, length: timedelta) -> None:
    assert parse_interval(text) == length


@pytest.mark.parametrize(
    "text", ["", "interval", "soon", "interval 3 moons", "5", None, 7, "9" * 99]
)
def test_what_is_none(text: object) -> None:
    assert parse_interval(text) is None
