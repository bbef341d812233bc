"""A row as Spark keeps it in state: `UnsafeRow`, decoded by the schema in the checkpoint.

From Spark 4.3 `catalyst/expressions/UnsafeRow.java`; numbers are little-endian:

    bits that say which fields are null, in words of 8 bytes · 8 bytes per field · long values

A boolean, a number, a date (days) or a timestamp (microseconds) lies in its 8 bytes. A string, a
binary, a struct or a decimal of more than 18 digits lies behind: its field has where it begins,
counted from the beginning of the row, times 2^32, plus how long it is. A type that is not decoded
is a value that names the type.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from functools import partial
from re import fullmatch

import msgspec

_DEEPEST = 32
_MOST_FIELDS = 10_000
_LONG_DIGITS = 18
_EXACT = Context(prec=64)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NotDecoded(msgspec.Struct, frozen=True):
    """A value that is there and is not decoded."""

    what: str
    """The name of its type, or what is wrong with its bytes."""


class Fields(msgspec.Struct, frozen=True):
    """A row or a struct: names and values, in order."""

    items: tuple[tuple[str, Value], ...]


Value = None | bool | int | float | str | bytes | date | datetime | Decimal | Fields | NotDecoded
RowDecoder = Callable[[bytes], Fields | NotDecoded]
"""Never raises: bytes that do not fit the schema are `NotDecoded`."""
_FieldDecoder = Callable[[bytes, int], Value]
"""Takes the row and the place of the field's 8 bytes."""
_MISFIT = NotDecoded("bytes that do not fit the schema")


def make_decoder(schema: Mapping[str, object]) -> RowDecoder | NotDecoded:
    """Return what decodes rows of a schema; what is wrong with the schema if it is none.

    Args:
        schema: Spark's `StructType`, as JSON.
    """
    return _make_decoder(schema, deep=0)


def _make_decoder(schema: Mapping[str, object], *, deep: int) -> RowDecoder | NotDecoded:
    fields = schema.get("fields")
    if not isinstance(fields, list) or deep > _DEEPEST or len(fields) > _MOST_FIELDS:
        return NotDecoded("a schema that is not a struct")
    if not all(isinstance(each, dict) for each in fields):
        return NotDecoded("a schema that is not a struct")
    names = [str(each.get("name")) for each in fields]
    decoders = [_field_decoder(each.get("type"), deep=deep) for each in fields]
    return partial(_decode_row, tuple(zip(names, decoders, strict=True)))


def _decode_row(fields: tuple[tuple[str, _FieldDecoder], ...], raw: bytes) -> Fields | NotDecoded:
    first = (len(fields) + 63) // 64 * 8
    if len(raw) < first + 8 * len(fields):
        return _MISFIT
    nulls = int.from_bytes(raw[:first], "little")
    found: list[tuple[str, Value]] = []
    for place, (name, decode) in enumerate(fields):
        if nulls >> place & 1:
            found.append((name, None))
            continue
        try:
            found.append((name, decode(raw, first + 8 * place)))
        except (ValueError, IndexError, OverflowError):
            found.append((name, _MISFIT))
    return Fields(tuple(found))


def leaf_types(schema: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield the name and the type of every column; those inside structs with dots."""
    waiting: list[tuple[str, object]] = [("", {**schema, "type": "struct"})]
    while waiting:
        name, kind = waiting.pop()
        fields = kind.get("fields") if isinstance(kind, dict) else None
        if type_name(kind) != "struct" or not isinstance(fields, list):
            yield name, type_name(kind)
            continue
        for each in reversed(fields):
            found = each if isinstance(each, dict) else {}
            inside = f"{name}.{found.get('name')}" if name else str(found.get("name"))
            waiting.append((inside, found.get("type")))


def type_name(kind: object) -> str:
    """Return how Spark's SQL writes a type: `array<int>`."""
    return _type_name(kind, deep=0)


def _type_name(kind: object, *, deep: int) -> str:
    if not isinstance(kind, dict) or deep > _DEEPEST:
        return str(kind)[:60] if isinstance(kind, str) else "unknown type"
    match kind.get("type"):
        case "array":
            return f"array<{_type_name(kind.get('elementType'), deep=deep + 1)}>"
        case "map":
            key, value = kind.get("keyType"), kind.get("valueType")
            return f"map<{_type_name(key, deep=deep + 1)},{_type_name(value, deep=deep + 1)}>"
        case str(other):
            return other[:60]
        case _:
            return "unknown type"


def _field_decoder(kind: object, *, deep: int) -> _FieldDecoder:
    if isinstance(kind, dict) and kind.get("type") == "struct":
        inner = _make_decoder(kind, deep=deep + 1)
        return partial(_struct, inner) if callable(inner) else partial(_not_decoded, inner)
    if isinstance(kind, str):
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if fullmatch(r"(char|varchar)\([0-9]+\)", kind):
            return _string
        if digits := fullmatch(r"decimal\(([0-9]{1,2}),(-?[0-9]{1,2})\)", kind):
            decode = _short_decimal if int(digits[1]) <= _LONG_DIGITS else _long_decimal
            return partial(decode, int(digits[2]))
    return partial(_not_decoded, NotDecoded(type_name(kind)))


def _not_decoded(what: NotDecoded, _raw: bytes, _at: int) -> NotDecoded:
    return what


def _number(form: str) -> _FieldDecoder:
    unpack_from = struct.Struct(form).unpack_from

    def decode(raw: bytes, at: int) -> Value:
        value: Value = unpack_from(raw, at)[0]
        return value

    return decode


_INT32, _INT64 = struct.Struct("<i").unpack_from, struct.Struct("<q").unpack_from


def _piece(raw: bytes, at: int) -> bytes:
    """Return the bytes that a field refers to."""
    length, begin = struct.unpack_from("<II", raw, at)
    if begin + length > len(raw):
        raise ValueError
    return raw[begin : begin + length]


def _string(raw: bytes, at: int) -> Value:
    return _piece(raw, at).decode("utf-8", "surrogateescape")


def _struct(inner: RowDecoder, raw: bytes, at: int) -> Value:
    return inner(_piece(raw, at))


def _date(raw: bytes, at: int) -> Value:
    days = _INT32(raw, at)[0]
    try:
        return date.fromordinal(_EPOCH_DAY + days)
    except (ValueError, OverflowError):
        return NotDecoded(f"date {days} days after 1970")


def _timestamp(raw: bytes, at: int) -> Value:
    micros = _INT64(raw, at)[0]
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return NotDecoded(f"timestamp {micros} microseconds after 1970")


def _local_timestamp(raw: bytes, at: int) -> Value:
    found = _timestamp(raw, at)
    return found.replace(tzinfo=None) if isinstance(found, datetime) else found


def _short_decimal(scale: int, raw: bytes, at: int) -> Value:
    return Decimal(_INT64(raw, at)[0]).scaleb(-scale, _EXACT)


def _long_decimal(scale: int, raw: bytes, at: int) -> Value:
    piece = _piece(raw, at)
    if not 0 < len(piece) <= 16:  # 38 digits
        return _MISFIT
    return Decimal(int.from_bytes(piece, "big", signed=True)).scaleb(-scale, _EXACT)


def _boolean(raw: bytes, at: int) -> Value:
    return raw[at] != 0


def _null(_raw: bytes, _at: int) -> Value:
    return None


_SIMPLE: Mapping[str, _FieldDecoder] = {
    "boolean": _boolean,
    "byte": _number("<b"),
    "short": _number("<h"),
    "integer": _number("<i"),
    "long": _number("<q"),
    "float": _number("<f"),
    "double": _number("<d"),
    "string": _string,
    "binary": _piece,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _local_timestamp,
    "void": _null,
}
