"""Values that a database would change: refused before they are sent. Pure, in Arrow.

Each check takes a column of a record batch, NULLs and all, and raises ValueError with a sentence
that holds no value.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.arrow_columns import Array
from holdfast.sinks.database.target import Check

_MICROSECOND_DIGITS = 6
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""In microseconds since 1970; what is written has four digits of a year."""
_DAY_US = 86_400_000_000
_GREGORIAN = -12_219_292_800_000_000
_LEAST_FLOAT, _LEAST_DOUBLE = 2.0**-126, 2.0**-1022
"""The smallest normal numbers above zero."""
_SIGN = -(1 << 63)
"""The bits of -0.0, as a number."""


def _any(found: Array) -> bool:
    return bool(pc.any(found).as_py())


def refuse_null(column: Array) -> None:
    """Refuse NULL: the column takes none, or would write something else in its place."""
    if column.null_count:
        raise ValueError("there is a NULL, which the table's column does not take")


def refuse_negative(column: Array) -> None:
    """Refuse numbers below zero, of a column that is unsigned."""
    zero = pa.scalar(Decimal(0) if pa.types.is_decimal(column.type) else 0).cast(column.type)
    if _any(pc.less(column, zero)):
        raise ValueError("a number is negative, and the table's column is unsigned")


def refuse_nan(column: Array) -> None:
    """Refuse what is not a number."""
    if _any(pc.is_nan(column)):
        raise ValueError("there is a NaN, which the database does not store")


def refuse_infinite(column: Array) -> None:
    """Refuse infinities."""
    if _any(pc.is_inf(column)):
        raise ValueError("there is an infinity, which the database does not store")


def refuse_negative_zero(column: Array) -> None:
    """Refuse -0.0: the database stores 0.0, or takes both for equal."""
    bits = column.cast(pa.float64()).view(pa.int64())
    if _any(pc.equal(bits, _SIGN)):
        raise ValueError("there is a -0.0, which would become 0.0")


def longest(length: int) -> Check:
    """Return what refuses texts with more characters."""

    def check(column: Array) -> None:
        if _any(pc.greater(pc.utf8_length(column), length)):
            raise ValueError(f"a text is longer than {length} characters")

    return check


def largest(octets: int) -> Check:
    """Return what refuses values with more bytes."""

    def check(column: Array) -> None:
        if _any(pc.greater(pc.binary_length(column), octets)):
            raise ValueError(f"a value is longer than {octets} bytes")

    return check


def exactly(octets: int) -> Check:
    """Return what refuses values that would be filled up to a length."""

    def check(column: Array) -> None:
        if _any(pc.not_equal(pc.binary_length(column), octets)):
            raise ValueError(f"a value has not {octets} bytes, and would be filled up")

    return check


def longest_utf16(units: int) -> Check:
    """Return what refuses texts with more code units of UTF-16: two for some characters."""

    def check(column: Array) -> None:
        texts = column.drop_null()
        beyond = pc.count_substring_regex(texts, r"[\x{10000}-\x{10FFFF}]")
        if _any(pc.greater(pc.add(pc.utf8_length(texts), beyond), units)):
            raise ValueError(f"a text is longer than {units} code units of UTF-16")

    return check


def refuse_empty(column: Array) -> None:
    """Refuse empty texts and bytes, which Oracle takes for NULL."""
    if _any(pc.equal(pc.binary_length(column), 0)):
        raise ValueError("a value is empty, and the database would store NULL")


def refuse_trailing_zero(column: Array) -> None:
    """Refuse bytes that end in zero: SQL Server takes them for equal to those without it."""
    if any(each is not None and each[-1:] == b"\0" for each in column.to_pylist()):
        raise ValueError("a value ends in a zero byte, which comparisons ignore")


def refuse_subnormal(column: Array) -> None:
    """Refuse numbers so small that a database's documentation does not promise them."""
    least = _LEAST_FLOAT if pa.types.is_float32(column.type) else _LEAST_DOUBLE
    size = pc.abs(column.cast(pa.float64()))
    if _any(pc.and_(pc.greater(size, 0.0), pc.less(size, least))):
        raise ValueError("a number is so small that the database may store 0")


def refuse_julian(column: Array) -> None:
    """Refuse days before 15 October 1582, where Oracle counts by the Julian calendar."""
    days = column if pa.types.is_date(column.type) else microseconds(column)
    number = days.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
    first = _GREGORIAN // (_DAY_US if pa.types.is_date(column.type) else 1)
    if _any(pc.less(number, first)):
        raise ValueError("a time is before 15 October 1582, where the calendar changed")


def refuse_trailing_space(column: Array) -> None:
    """Refuse texts that end in a space: they would lose it, or equal those that lack it."""
    if _any(pc.ends_with(column, " ")):
        raise ValueError("a text ends in a space, which the table's column does not keep apart")


def refuse_beyond_bmp(column: Array) -> None:
    """Refuse characters of four bytes, of a column in utf8mb3."""
    if _any(pc.match_substring_regex(column, r"[\x{10000}-\x{10FFFF}]")):
        raise ValueError("a text has a character of four bytes, and the column is utf8mb3")


def rounded_to(digits: int) -> Check:
    """Return what refuses times that have more digits of a second."""
    unit = 10 ** (_MICROSECOND_DIGITS - digits)

    def check(column: Array) -> None:
        number = microseconds(column).cast(pa.int64())
        if _any(pc.not_equal(number, pc.multiply(pc.divide(number, unit), unit))):
            raise ValueError(f"a time has more than {digits} digits of a second")

    return check


def refuse_far_times(column: Array) -> None:
    """Refuse times whose year has not four digits, or is 0."""
    number = microseconds(column).cast(pa.int64())
    if _any(pc.or_(pc.less(number, _YEAR_1), pc.greater_equal(number, _YEAR_10000))):
        raise ValueError("a time is not in the years 1 to 9999")


def refuse_far_days(column: Array) -> None:
    """Refuse days whose year has not four digits, or is 0."""
    number = column.cast(pa.int32())
    first, end = _YEAR_1 // _DAY_US, _YEAR_10000 // _DAY_US
    if _any(pc.or_(pc.less(number, first), pc.greater_equal(number, end))):
        raise ValueError("a date is not in the years 1 to 9999")


def before(microsecond: int, *, after: int, shown: str) -> Check:
    """Return what refuses times that a column cannot hold."""

    def check(column: Array) -> None:
        number = microseconds(column).cast(pa.int64())
        if _any(pc.or_(pc.less_equal(number, after), pc.greater_equal(number, microsecond))):
            raise ValueError(f"a time is not between {shown}, which the column can hold")

    return check


def microseconds(column: Array) -> Array:
    """Return times in microseconds; instants in UTC."""
    return column.cast(pa.timestamp("us"))
