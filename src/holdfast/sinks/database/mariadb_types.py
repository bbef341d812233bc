"""Which Arrow types go into which types of MariaDB and MySQL, and how their values are written.

Exact or not at all: what the server would round, cut, pad, convert to another character set or
move to another time zone is refused, by type before any batch or by value with its batch.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.arrow_columns import Array
from holdfast.sinks.database import values
from holdfast.sinks.database.target import Check, Column, Field

_INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_TEXTS = frozenset({"varchar", "char", "tinytext", "text", "mediumtext", "longtext"})
_BYTES = frozenset({"varbinary", "binary", "tinyblob", "blob", "mediumblob", "longblob"})
_CHARSETS = frozenset({"utf8mb4", "utf8mb3", "utf8"})
_TIMESTAMP_END_US = ((1 << 31) - 1) * 1_000_000 + 1_000_000
_TO_ESCAPE = r"[\\'\x00\t\n\r\x1a]"
_ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    "\0": "\\0",
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\x1a": "\\Z",
}
"""As literals and as LOAD DATA read them; the backslash first."""


def suggest_type(kind: pa.DataType) -> str | None:
    """Return the type that holds every value of an Arrow type; None when there is none."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp(6) NULL" if kind.tz else "datetime(6)"
    plain = (
        (pa.types.is_boolean, "boolean"),
        (pa.types.is_int8, "tinyint"),
        (pa.types.is_int16, "smallint"),
        (pa.types.is_int32, "int"),
        (pa.types.is_integer, "bigint"),
        (pa.types.is_float32, "float"),
        (pa.types.is_floating, "double"),
        (_is_text, "longtext CHARACTER SET utf8mb4"),
        (_is_binary, "longblob"),
        (pa.types.is_date, "date"),
    )
    return next((name for fits, name in plain if fits(kind)), None)


def find_field(name: str, kind: pa.DataType, column: Column) -> Field | None:
    """Return how values of an Arrow type are written into a column; None when not."""
    if column.is_generated:
        return None
    found = None
    for find in (_whole, _float, _decimal, _text, _binary, _time):
        found = found or find(name, kind, column)
    if found is None or column.is_nullable:
        return found
    return msgspec.structs.replace(found, checks=(values.refuse_null, *found.checks))


def _whole(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if pa.types.is_boolean(kind) and column.kind in _INTEGERS:
        return Field(name=name, form=lambda each: each.cast(pa.uint8()).cast(pa.string()))
    if not pa.types.is_integer(kind) or _INTEGERS.get(column.kind, 0) < kind.bit_width:
        return None
    checks = (values.refuse_negative,) if column.is_unsigned else ()
    return Field(name=name, form=_as_text, checks=checks)


def _float(name: str, kind: pa.DataType, column: Column) -> Field | None:
    fits = {"float": pa.types.is_float32, "double": pa.types.is_floating}.get(column.kind)
    if fits is None or not fits(kind) or column.is_unsigned or column.scale is not None:
        return None
    return Field(
        name=name,
        # A float is written as the double that it is: its own digits would be read as another one.
        form=lambda each: each.cast(pa.float64()).cast(pa.string()),
        checks=(values.refuse_nan, values.refuse_infinite, values.refuse_negative_zero),
        is_quoted=True,
        is_inexact_key="numbers with a point are no exact keys",
    )


def _decimal(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if column.kind != "decimal" or not pa.types.is_decimal(kind):
        return None
    scale, precision = column.scale or 0, column.precision or 0
    if scale < kind.scale or precision - scale < kind.precision - kind.scale:
        return None
    checks = (values.refuse_negative,) if column.is_unsigned else ()
    return Field(name=name, form=_as_text, checks=checks, is_quoted=True)


def _text(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if not _is_text(kind) or column.kind not in _TEXTS or column.charset not in _CHARSETS:
        return None
    checks: list[Check] = [_length_check(column)]
    if column.charset != "utf8mb4":
        checks.append(values.refuse_beyond_bmp)
    collation = column.collation or ""
    # Of MySQL's collations, those of Unicode 9 and later take no space for another.
    pads = "nopad" not in collation and "0900" not in collation
    if column.kind == "char":
        checks.append(values.refuse_trailing_space)
    why = f"its collation {collation} takes different texts for equal"
    return Field(
        name=name,
        form=_escaped,
        checks=tuple(checks),
        is_quoted=True,
        order="CAST({} AS BINARY)",
        is_inexact_key="" if collation.endswith("_bin") else why,
        key_checks=(values.refuse_trailing_space,) if pads else (),
    )


def _binary(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if not _is_binary(kind) or column.kind not in _BYTES:
        return None
    length = column.octets or 0
    check = values.exactly(length) if column.kind == "binary" else values.largest(length)
    return Field(name=name, form=_hex, checks=(check,), is_hex=True)


def _time(name: str, kind: pa.DataType, column: Column) -> Field | None:
    if pa.types.is_date(kind) and column.kind == "date":
        return Field(name=name, form=_as_text, checks=(values.refuse_far_days,), is_quoted=True)
    # An instant goes into TIMESTAMP, and what a clock on the wall shows into DATETIME.
    wanted = {True: "timestamp", False: "datetime"}
    if not pa.types.is_timestamp(kind) or column.kind != wanted[bool(kind.tz)]:
        return None
    checks: list[Check] = [values.refuse_far_times, values.rounded_to(column.fraction or 0)]
    if kind.tz:
        shown = "1970-01-01 00:00:01 and 2038-01-19 03:14:07"
        checks.append(values.before(_TIMESTAMP_END_US, after=999_999, shown=shown))
    return Field(name=name, form=_as_time, checks=tuple(checks), is_quoted=True)


def _length_check(column: Column) -> Check:
    """Limit a VARCHAR by its characters, and a TEXT by its bytes."""
    if column.kind in ("varchar", "char"):
        return values.longest(column.length or 0)
    return values.largest(column.octets or 0)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _as_text(column: Array) -> Array:
    return column.cast(pa.string())


def _as_time(column: Array) -> Array:
    return values.microseconds(column).cast(pa.string())


def _escaped(column: Array) -> Array:
    text = column.cast(pa.string())
    if not pc.any(pc.match_substring_regex(text, _TO_ESCAPE)).as_py():
        return text
    for character, escape in _ESCAPES.items():
        text = pc.replace_substring(text, character, escape)
    return text


def _hex(column: Array) -> Array:
    return pa.array(
        [None if each is None else each.hex() for each in column.to_pylist()], pa.string()
    )
