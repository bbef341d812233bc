"""Which Arrow types go into which types of PostgreSQL, and how their values are written.

Exact or not at all: integers go into integers of their size and larger, floats into floats,
decimals into `numeric`, strings into text, `uuid`, `json` and `jsonb`, lists into arrays of what
their elements go into. Everything else is refused before any batch, by name. Type modifiers count:
`numeric(10,2)` does not take `decimal(20,4)`, and a value that `timestamp(0)` would round or
`varchar(5)` would cut is refused with its batch (`modifiers.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.arrow_columns import Array, payload_of
from holdfast.sinks.postgres import modifiers
from holdfast.sinks.postgres.encode import (
    Encoder,
    Fixed,
    Varying,
    as_binary,
    join_fields,
    lay_out,
    little_endian,
)

EPOCH_DAYS = 10_957
"""From 1970-01-01 to 2000-01-01, where PostgreSQL's days begin."""
EPOCH_US = EPOCH_DAYS * 86_400_000_000
_BASE = 10_000
_EXACT_DIGITS = 18
"""Decimal digits that a 64-bit number always holds."""
_TEXTS = frozenset({"text", "varchar", "bpchar", "name", "citext", "json", "jsonb"})
_INTEGERS = {"int2": 2, "int4": 4, "int8": 8}
_OIDS = {
    "bool": 16,
    "bytea": 17,
    "int8": 20,
    "int2": 21,
    "int4": 23,
    "text": 25,
    "json": 114,
    "float4": 700,
    "float8": 701,
    "bpchar": 1042,
    "varchar": 1043,
    "date": 1082,
    "timestamp": 1114,
    "timestamptz": 1184,
    "numeric": 1700,
    "uuid": 2950,
    "jsonb": 3802,
}
_SUGGESTED: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_boolean, "boolean"),
    (lambda kind: pa.types.is_integer(kind) and kind.bit_width <= 16, "smallint"),
    (lambda kind: pa.types.is_integer(kind) and kind.bit_width == 32, "integer"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_string, "text"),
    (pa.types.is_large_string, "text"),
    (pa.types.is_binary, "bytea"),
    (pa.types.is_large_binary, "bytea"),
    (pa.types.is_date, "date"),
)


def suggest_type(kind: pa.DataType) -> str | None:
    """Return the type of PostgreSQL that a column of this Arrow type wants; None for none."""
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp with time zone" if kind.tz else "timestamp"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = suggest_type(kind.value_type)
        return None if inner is None or inner.endswith("[]") else f"{inner}[]"
    return next((name for fits, name in _SUGGESTED if fits(kind)), None)


def find_encoder(
    kind: pa.DataType, target: str, *, modifier: int = modifiers.NONE, encoding: str = "UTF8"
) -> Encoder | None:
    """Return how values of an Arrow type are written into a type of PostgreSQL; None when not.

    Args:
        kind: The Arrow type.
        target: PostgreSQL's own name of the type, `typname`: `int8`, `_text` for an array of it.
        modifier: Its `atttypmod`: the length, precision or scale that it is limited to.
        encoding: Of the database.
    """
    if target.startswith("_"):
        return _find_array(kind, target[1:], modifier=modifier, encoding=encoding)
    if pa.types.is_integer(kind):
        return _find_integer(kind, target)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _find_text(target, modifier, encoding)
    if pa.types.is_decimal(kind) and target == "numeric":
        return _numeric(kind) if modifiers.holds_scale(modifier, kind.scale) else None
    stamp = _timestamp(modifier)
    plain: dict[str, tuple[Callable[[pa.DataType], bool], Encoder]] = {
        "bool": (pa.types.is_boolean, _BOOL),
        "float4": (pa.types.is_float32, _FLOAT4),
        "float8": (pa.types.is_floating, _FLOAT8),
        "date": (pa.types.is_date32, _DATE),
        "timestamp": (lambda each: pa.types.is_timestamp(each) and not each.tz, stamp),
        "timestamptz": (lambda each: pa.types.is_timestamp(each) and bool(each.tz), stamp),
        "bytea": (lambda each: pa.types.is_binary(each) or pa.types.is_large_binary(each), _BYTES),
    }
    fits, encoder = plain.get(target, (pa.types.is_null, _BYTES))
    return encoder if target in plain and fits(kind) else None


def _find_integer(kind: pa.DataType, target: str) -> Encoder | None:
    width = _INTEGERS.get(target, 0)
    needed = kind.bit_width // 8 + (0 if pa.types.is_signed_integer(kind) else 1)
    if width < needed:
        return None
    wide = {2: pa.int16(), 4: pa.int32(), 8: pa.int64()}[width]
    return Fixed(width, lambda column: little_endian(column.cast(wide), width))


def _find_text(target: str, modifier: int, encoding: str) -> Encoder | None:
    if target not in _TEXTS:
        return Varying(_encode_uuids) if target == "uuid" else None
    checks = modifiers.find_text_checks(target, modifier, encoding)
    start = b"\x01" if target == "jsonb" else b""

    def encode(column: Array) -> Array:
        for check in checks:
            column = check(column)
        raw = _as_bytes(column)
        return pc.binary_join_element_wise(start, raw, b"") if start else raw

    return Varying(encode)


def _as_bytes(column: Array) -> Array:
    return column.cast(pa.binary())


def _shifted(column: Array, kind: pa.DataType, epoch: int) -> bytes:
    raw = pc.subtract_checked(column.cast(kind), pa.scalar(epoch, kind))
    return little_endian(modifiers.refuse_infinities(raw), kind.bit_width // 8)


def _timestamp(modifier: int) -> Encoder:
    check = modifiers.find_precision_check(modifier)

    def encode(column: Array) -> bytes:
        exact = column.cast(pa.timestamp("us", column.type.tz))
        return _shifted(check(exact) if check else exact, pa.int64(), EPOCH_US)

    # What stands for NULL meanwhile is 1970, which is exact in every precision.
    return Fixed(8, encode)


_BOOL = Fixed(1, lambda column: little_endian(column.cast(pa.uint8()), 1), filler=False)
_FLOAT4 = Fixed(4, lambda column: little_endian(column, 4), filler=0.0)
_FLOAT8 = Fixed(8, lambda column: little_endian(column.cast(pa.float64()), 8), filler=0.0)
_DATE = Fixed(4, lambda column: _shifted(column, pa.int32(), EPOCH_DAYS))
_BYTES = Varying(_as_bytes)


def _encode_uuids(column: Array) -> Array:
    """Turn 36 characters into 16 bytes, all at once: the hexadecimal digits of all are one text."""
    digits = pc.replace_substring(column.cast(pa.string()), "-", "")
    present = digits.drop_null()
    lengths = pc.unique(pc.binary_length(present)).to_pylist()
    if lengths not in ([], [32]):
        raise ValueError("a value is not a uuid: 32 hexadecimal digits, with or without hyphens")
    try:
        raw = bytes.fromhex(payload_of(present.cast(pa.binary())).tobytes().decode("ascii"))
    except ValueError as error:
        raise ValueError("a value is not a uuid: it holds other than hexadecimal digits") from error
    values = pa.Array.from_buffers(pa.binary(16), len(present), [None, pa.py_buffer(raw)])
    if not column.null_count:
        return values.cast(pa.binary())
    places = pc.subtract(pc.cumulative_sum(column.is_valid().cast(pa.int64())), 1)
    places = pc.if_else(column.is_valid(), places, pa.scalar(None, pa.int64()))
    return values.cast(pa.binary()).take(places)


def _numeric(kind: pa.DataType) -> Encoder:
    """Write decimals as PostgreSQL's digits to the base 10,000, as many for every value.

    int16 digits · int16 weight of the first · int16 sign · int16 scale · digits
    """
    whole, fraction = -(-(kind.precision - kind.scale) // 4), -(-kind.scale // 4)
    groups = whole + fraction
    shift = 4 * fraction - kind.scale

    def encode(column: Array) -> bytes:
        if kind.precision + shift <= _EXACT_DIGITS:
            digits, negative = _split(column, groups, shift=shift)
        else:
            digits, negative = _split_one_by_one(column, groups, shift=shift)
        head = [groups, whole - 1, negative, kind.scale]
        fields = [
            (each if isinstance(each, bytes) else struct.pack("<h", each), 2)
            for each in (*head, *digits)
        ]
        # Reversed once more by whoever lays it out.
        return _reverse_values(lay_out(fields, len(column)), 8 + 2 * groups)

    return Fixed(8 + 2 * groups, encode)


def _split(column: Array, groups: int, *, shift: int) -> tuple[list[bytes], bytes]:
    """Return the digits of decimals that fit 64 bits, group by group, and their signs."""
    raw = pa.Array.from_buffers(
        pa.binary(16), len(column), [None, column.buffers()[1]], offset=column.offset
    )
    low = pc.binary_slice(raw, 0, 8).cast(pa.binary())
    data = payload_of(low)
    number = pa.Array.from_buffers(pa.int64(), len(column), [None, pa.py_buffer(data)])
    is_negative = pc.less(number, 0)
    rest = pc.multiply(pc.abs(number), 10**shift)
    digits = []
    for _ in range(groups):
        quotient = pc.divide(rest, _BASE)
        group = pc.subtract(rest, pc.multiply(quotient, _BASE))
        digits.append(little_endian(group.cast(pa.int16()), 2))
        rest = quotient
    sign = pc.if_else(is_negative, pa.scalar(0x4000, pa.int16()), pa.scalar(0, pa.int16()))
    return digits[::-1], little_endian(sign, 2)


def _split_one_by_one(column: Array, groups: int, *, shift: int) -> tuple[list[bytes], bytes]:
    """Return the same of decimals with more digits than 64 bits hold."""
    raw = memoryview(column.buffers()[1])[16 * column.offset :]
    digits = [bytearray() for _ in range(groups)]
    signs = bytearray()
    for row in range(len(column)):
        number = int.from_bytes(raw[16 * row : 16 * row + 16], "little", signed=True)
        signs += struct.pack("<h", 0x4000 if number < 0 else 0)
        rest = abs(number) * 10**shift
        for group in reversed(digits):
            rest, digit = divmod(rest, _BASE)
            group.extend(struct.pack("<h", digit))
    return [bytes(each) for each in digits], bytes(signs)


def _reverse_values(values: Array, width: int) -> bytes:
    data = bytes(payload_of(values))
    out = bytearray(len(data))
    for byte in range(width):
        out[byte::width] = data[width - 1 - byte :: width]
    return bytes(out)


def _find_array(kind: pa.DataType, element: str, **limits: Any) -> Encoder | None:
    """Write lists as arrays of one dimension.

    int32 dimensions · int32 whether there are NULLs · int32 type · int32 length · int32 first index
    · per element int32 length and value
    """
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or element not in _OIDS:
        return None
    inner = find_encoder(kind.value_type, element, **limits)
    if inner is None or element.startswith("_"):
        return None
    return Varying(lambda column: _encode_lists(column, inner, _OIDS[element]))


def _encode_lists(column: Array, inner: Encoder, oid: int) -> Array:
    lists = column.cast(pa.list_(column.type.value_type))
    lengths = pc.list_value_length(lists).fill_null(0)
    flat = lists.flatten()
    rows = len(lists)
    if len(flat):
        elements = join_fields(b"", [flat], [inner], rows=len(flat))
    else:
        elements = as_binary(pa.array([], pa.binary()), _BYTES)
    ends = pc.cumulative_sum(pc.cast(lengths, pa.int64()))
    starts = memoryview(elements.buffers()[1]).cast("i")
    places = [starts[elements.offset]] + [starts[elements.offset + end] for end in ends.to_pylist()]
    bodies = pa.Array.from_buffers(
        pa.binary(), rows, [None, pa.array(places, pa.int32()).buffers()[1], elements.buffers()[2]]
    )
    has_nulls = struct.pack("<i", 1 if flat.null_count else 0)
    heads = lay_out(
        [
            (struct.pack("<i", 1), 4),
            (has_nulls, 4),
            (struct.pack("<i", oid), 4),
            (little_endian(lengths.cast(pa.int32()), 4), 4),
            (struct.pack("<i", 1), 4),
        ],
        rows,
    )
    joined = pc.binary_join_element_wise(heads, bodies, b"")
    return pc.if_else(lists.is_valid(), joined, pa.scalar(None, pa.binary()))
