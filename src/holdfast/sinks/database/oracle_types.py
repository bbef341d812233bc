"""Which Arrow types go into which types of Oracle, and as what the driver binds their values.

Exact or not at all. Oracle takes an empty text, and no bytes, for NULL: they are refused. A NUMBER
rounds what its scale has no room for; FLOAT counts in binary digits; a DATE has a time of day; CHAR
fills up with spaces; NVARCHAR2 and other character sets sort otherwise. LOBs cannot be compared.
"""

from __future__ import annotations

import pyarrow as pa

from holdfast.sinks.arrow_columns import Array
from holdfast.sinks.database import values
from holdfast.sinks.database.bound_values import as_float, as_int, as_is
from holdfast.sinks.database.target import Check, Column, Field
from holdfast.sinks.database.unrun_types import (
    FINEST,
    FLOAT_CHECKS,
    INEXACT_FLOAT,
    find_first,
    first_name,
    holds_decimal,
    is_binary,
    is_text,
)

UTF8 = "AL32UTF8"
_DIGITS = {1: 1, 8: 3, 16: 5, 32: 10, 64: 19}
"""Of the largest number of so many bits."""
_LONGEST_TEXT, _LONGEST_BYTES = 4_000, 2_000
_MOST_DIGITS = 38
_INSTANT, _TIME = "timestamp with time zone", "timestamp"


def suggest_type(kind: pa.DataType) -> str | None:
    """Return the type that holds every value of an Arrow type; None when there is none."""
    if pa.types.is_boolean(kind) or pa.types.is_signed_integer(kind):
        return f"number({_DIGITS[kind.bit_width]},0)"
    if pa.types.is_decimal(kind):
        return f"number({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return f"timestamp({FINEST})" + " with time zone" * bool(kind.tz)
    plain = (
        (pa.types.is_float32, "binary_float"),
        (pa.types.is_floating, "binary_double"),
        (is_text, f"varchar2({_LONGEST_TEXT} BYTE)"),
        (is_binary, f"raw({_LONGEST_BYTES})"),
        (pa.types.is_date, "date"),
    )
    return first_name(kind, plain)


def find_field(name: str, kind: pa.DataType, column: Column) -> Field | None:
    """Return how values of an Arrow type are bound for a column; None when not."""
    return find_first((_number, _float, _text, _binary, _time), name, kind, column=column)


def selected(quoted: str, column: Column) -> str:
    """Return the expression that reads a column exactly."""
    if column.kind == "date":
        day, time = "'YYYY-MM-DD'", "'SYYYY-MM-DD HH24:MI:SS'"
        return (
            f"CASE WHEN {quoted} = TRUNC({quoted}) AND {quoted} >= DATE '0001-01-01'"
            f" THEN TO_CHAR({quoted}, {day}) ELSE TO_CHAR({quoted}, {time}) END"
        )
    if column.kind == _INSTANT:
        form = "'YYYY-MM-DD\"T\"HH24:MI:SS.FF6'"
        return f"TO_CHAR(SYS_EXTRACT_UTC({quoted}), {form}) || '+00:00'"
    return quoted


def _number(name: str, kind: pa.DataType, column: Column) -> Field | None:
    is_whole = pa.types.is_boolean(kind) or pa.types.is_signed_integer(kind)
    if column.kind != "number" or not (is_whole or pa.types.is_decimal(kind)):
        return None
    # A NUMBER without limits keeps 38 digits, wherever the point is.
    if (column.precision, column.scale) != (None, None):
        wanted = pa.decimal128(_DIGITS[kind.bit_width], 0) if is_whole else kind
        precision = _MOST_DIGITS if column.precision is None else column.precision
        if not holds_decimal(wanted, precision=precision, scale=column.scale or 0):
            return None
    return Field(name=name, form=as_int if is_whole else as_is, bound="DB_TYPE_NUMBER")


def _float(name: str, kind: pa.DataType, column: Column) -> Field | None:
    fits = {"binary_float": pa.types.is_float32, "binary_double": pa.types.is_floating}
    if column.kind not in fits or not fits[column.kind](kind):
        return None
    return Field(
        name=name,
        form=as_float,
        checks=FLOAT_CHECKS,
        is_inexact_key=INEXACT_FLOAT,
        bound=f"DB_TYPE_{column.kind.upper()}",
    )


def _text(name: str, kind: pa.DataType, column: Column) -> Field | None:
    is_exact = column.kind == "varchar2" and column.charset == UTF8 and column.collation is None
    if not is_text(kind) or not is_exact:
        return None
    checks: list[Check] = [values.refuse_empty, values.largest(column.octets or 0)]
    if column.length is not None:
        checks.append(values.longest(column.length))
    return Field(name=name, form=as_is, checks=tuple(checks), bound="DB_TYPE_VARCHAR")


def _binary(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if not is_binary(kind) or column.kind != "raw":
        return None
    checks = (values.refuse_empty, values.largest(column.octets or 0))
    return Field(name=name, form=as_is, checks=checks, bound="DB_TYPE_RAW")


def _time(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if pa.types.is_date(kind) and column.kind == "date":
        checks = (values.refuse_far_days, values.refuse_julian)
        return Field(name=name, form=as_is, checks=checks, bound="DB_TYPE_DATE")
    # An instant goes into a type with a time zone, what a clock on the wall shows into one without.
    if not pa.types.is_timestamp(kind) or column.kind != (_INSTANT if kind.tz else _TIME):
        return None
    if column.fraction is None or column.fraction > FINEST:
        return None
    exact = (values.refuse_far_times, values.rounded_to(column.fraction), values.refuse_julian)
    return Field(
        name=name,
        form=_as_time,
        checks=exact,
        bound="DB_TYPE_TIMESTAMP",
        placed="FROM_TZ(?, '+00:00')" if kind.tz else "?",
    )


def _as_time(column: Array) -> list[object]:
    return list(values.microseconds(column).to_pylist())
