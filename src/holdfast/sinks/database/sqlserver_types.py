"""Which Arrow types go into which types of SQL Server, and as what the driver binds their values.

Exact or not at all. DATETIME rounds to 1/300 s and is refused, as SMALLDATETIME is; VARCHAR keeps
what the code page of its collation has; CHAR and NCHAR fill up with spaces; MONEY rounds.
Comparisons take a text for equal to the same with spaces behind it, in every collation, and bytes
for equal to the same with zeros behind them.
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

EXACT = "Latin1_General_100_BIN2"
"""A collation that compares code units, on every server since 2008."""
_INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
"""Bits of each. A TINYINT takes 0 to 255, so a byte of Spark only while it is not negative."""
_OF_BITS = {8: "smallint", 16: "smallint", 32: "int", 64: "bigint"}
_BYTES_ORDER = "(CAST({} AS varbinary(max)) + 0x01)"
"""Tells apart what comparisons take for equal; orders by UTF-16, and not by UTF-8 as Spark does."""
_OTHER_ORDER = "holds texts or bytes, which SQL Server orders by other rules than Spark"


def suggest_type(kind: pa.DataType) -> str | None:
    """Return the type that holds every value of an Arrow type; None when there is none."""
    if pa.types.is_signed_integer(kind):
        return _OF_BITS[kind.bit_width]
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return f"datetimeoffset({FINEST})" if kind.tz else f"datetime2({FINEST})"
    plain = (
        (pa.types.is_boolean, "bit"),
        (pa.types.is_float32, "real"),
        (pa.types.is_floating, "float"),
        (is_text, f"nvarchar(max) COLLATE {EXACT}"),
        (is_binary, "varbinary(max)"),
        (pa.types.is_date, "date"),
    )
    return first_name(kind, plain)


def find_field(name: str, kind: pa.DataType, column: Column) -> Field | None:
    """Return how values of an Arrow type are bound for a column; None when not."""
    rules = (_whole, _float, _decimal, _text, _binary, _time)
    return find_first(rules, name, kind, column=column)


def _whole(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if pa.types.is_boolean(kind):
        return Field(name=name, form=as_is, bound="bit") if column.kind == "bit" else None
    bits = _INTEGERS.get(column.kind, 0)
    if not pa.types.is_signed_integer(kind) or bits < kind.bit_width:
        return None
    checks = (values.refuse_negative,) if column.is_unsigned else ()
    return Field(name=name, form=as_int, checks=checks, bound="bigint")


def _float(name: str, kind: pa.DataType, column: Column) -> Field | None:
    fits = {"real": pa.types.is_float32, "float": pa.types.is_floating}.get(column.kind)
    if fits is None or not fits(kind):
        return None
    return Field(
        name=name,
        form=as_float,
        checks=FLOAT_CHECKS,
        is_inexact_key=INEXACT_FLOAT,
        bound=column.kind,
    )


def _decimal(name: str, kind: pa.DataType, column: Column) -> Field | None:
    precision, scale = column.precision or 0, column.scale or 0
    if column.kind not in ("decimal", "numeric") or not pa.types.is_decimal(kind):
        return None
    if not holds_decimal(kind, precision=precision, scale=scale):
        return None
    return Field(name=name, form=as_is, bound=f"decimal({kind.precision},{kind.scale})")


def _text(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if not is_text(kind) or column.kind != "nvarchar":
        return None
    checks = () if column.length is None else (values.longest_utf16(column.length),)
    collation = column.collation or ""
    why = f"its collation {collation} takes different texts for equal"
    return Field(
        name=name,
        form=as_is,
        checks=checks,
        order=_BYTES_ORDER,
        is_inexact_key="" if collation.endswith("_BIN2") else why,
        key_checks=(values.refuse_trailing_space,),
        other_order=_OTHER_ORDER,
        bound="nvarchar(max)",
    )


def _binary(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if not is_binary(kind) or column.kind not in ("varbinary", "binary"):
        return None
    checks: tuple[Check, ...] = ()
    if column.length is not None:
        is_filled = column.kind == "binary"
        checks = ((values.exactly if is_filled else values.largest)(column.length),)
    return Field(
        name=name,
        form=as_is,
        checks=checks,
        order=_BYTES_ORDER,
        key_checks=(values.refuse_trailing_zero,),
        other_order=_OTHER_ORDER,
        bound="varbinary(max)",
    )


def _time(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if pa.types.is_date(kind) and column.kind == "date":
        return Field(name=name, form=as_is, checks=(values.refuse_far_days,), bound="date")
    # An instant goes into DATETIMEOFFSET, and what a clock on the wall shows into DATETIME2.
    wanted = {True: "datetimeoffset", False: "datetime2"}
    if not pa.types.is_timestamp(kind) or column.kind != wanted[bool(kind.tz)]:
        return None
    digits = FINEST + 1 if column.fraction is None else column.fraction
    if digits > FINEST:
        return None
    return Field(
        name=name,
        form=_as_instant if kind.tz else _as_time,
        checks=(values.refuse_far_times, values.rounded_to(digits)),
        bound=f"{column.kind}({digits})",
    )


def _as_time(column: Array) -> list[object]:
    return list(values.microseconds(column).to_pylist())


def _as_instant(column: Array) -> list[object]:
    return list(column.cast(pa.timestamp("us", "UTC")).to_pylist())
