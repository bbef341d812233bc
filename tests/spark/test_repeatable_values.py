"""What is proven to repeat is tried, in another time zone and without ANSI mode.

Each expression gives the same value for the same row in both sessions, or is an error in one.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from tests.spark.repeatable_queries import DIFFERENT, HERE, PROVEN, THERE, TYPES, listed, settle

pytestmark = pytest.mark.sampled(5)

NAN, MOST, EPOCH = float("nan"), 2**31 - 1, datetime(1970, 1, 1, tzinfo=UTC)
SPRING, LEAP, FIRST = datetime(2024, 3, 10, 1, tzinfo=UTC), date(2024, 2, 29), date(1, 1, 1)
ROWS: list[tuple[Any, ...]] = [
    (1, 5, 1.5, 0.1, Decimal("0.0000001"), "12", EPOCH, LEAP, True, [(1,)], b"A"),
    (
        2**63 - 1,
        MOST,
        -0.0,
        3e38,
        Decimal("9999999999.5"),
        "3000000000",
        SPRING,
        FIRST,
        False,
        [],
        b"",
    ),
    (-7, 0, 1e300, NAN, Decimal("-1.5"), "1.5", SPRING, LEAP, True, [(-3,), (4,)], b"\xff\x00"),
    (
        0,
        -MOST - 1,
        NAN,
        1.5,
        Decimal("0.5"),
        '{"a": 7, "b": "x"}',
        EPOCH,
        LEAP,
        False,
        None,
        b"\xc3",
    ),
    (3, 3, 3.0, 3.0, Decimal(3), "2024-02-29 01:02:03", EPOCH, LEAP, None, None, "é".encode()),
    (2, 1, 0.1, 0.2, Decimal(7), "row, é", EPOCH, LEAP, None, [(9,)], None),
    (4, *[None] * 10),
]
"""Ordinary values, and those at which casts and arithmetic fail or overflow."""


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def values(session: SparkSession, around: tuple[str, str], text: str) -> dict[int, str]:
    """Return the value of an expression for each row that it is not an error for."""
    settle(session, around)
    whole = session.sql(f"SELECT id, {text} AS x FROM sample")
    if whole.schema["x"].dataType.typeName() == "timestamp":  # Python has none after 9999
        whole = whole.selectExpr("id", "unix_micros(x) AS x")
    try:
        return {row.id: repr(row.x) for row in whole.collect()}
    except PySparkException:
        found: dict[int, str] = {}
        for number in (row[0] for row in ROWS):
            with suppress(PySparkException):
                found |= {row.id: repr(row.x) for row in whole.where(f"id = {number}").collect()}
        return found


def is_different(session: SparkSession, text: str) -> bool:
    """Return whether an expression has another value here than there for any row."""
    try:
        here, there = values(session, HERE, text), values(session, THERE, text)
    except AnalysisException:
        return False
    return any(here[number] != there[number] for number in here.keys() & there.keys())


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    found = spark.newSession()
    rows = found.createDataFrame(ROWS, TYPES).repartition(1).cache()
    rows.createOrReplaceTempView("sample")
    return found


@pytest.mark.parametrize("line", lines_of(PROVEN))
def test_what_is_proven_has_the_same_value_or_is_an_error(session: SparkSession, line: str) -> None:
    assert [text for text in listed(line) if is_different(session, text)] == []


@pytest.mark.parametrize("line", lines_of(DIFFERENT))
def test_the_sample_shows_what_a_time_zone_and_ansi_mode_decide(
    session: SparkSession, line: str
) -> None:
    """Without this the test above would prove nothing."""
    assert [text for text in listed(line) if not is_different(session, text)] == []
