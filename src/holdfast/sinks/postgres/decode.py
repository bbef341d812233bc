"""Values of PostgreSQL from the binary form that its `_send` functions give: every bit of them.

A value that the stream's own type cannot hold (a number with more digits, `infinity`, an array of
two dimensions) becomes a `Beyond`, with its text: no value of a stream is equal to it.

From PostgreSQL 15 `utils/adt`: numbers are big-endian; dates and times count from 2000; a numeric
has int16 digits · int16 weight of the first · int16 sign · int16 scale · digits to the base 10,000;
an array has int32 dimensions · int32 whether there are NULLs · int32 type · per dimension int32
length and int32 first index · per element int32 length (-1 for NULL) and value.
"""

from __future__ import annotations

import decimal
import json
import struct
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

EPOCH_DAYS = 10_957
"""From 1970-01-01 to 2000-01-01, where PostgreSQL's days begin."""
_DAY_US = 86_400_000_000
EPOCH_US = EPOCH_DAYS * _DAY_US
_DIGITS = 38
_SIGNS = {0x0000: "", 0x4000: "-", 0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}
_MINUS = 0x4000
_BASE_DIGITS = 4
_LAST_YEAR_OF_FOUR_DIGITS = 9_999


class Beyond(msgspec.Struct, frozen=True):
    """A value that the stream's type cannot hold."""

    display_name: str


Decode = Callable[[bytes], Any]


def find_decoder(kind: str, *, scale: int | None = None) -> Decode:
    """Return what decodes values of a type.

    Args:
        kind: PostgreSQL's own name of the type: `int8`, `_text` for an array of it.
        scale: Of a decimal column of the stream, or of its elements.
    """
    if kind.startswith("_"):
        inner = find_decoder(kind[1:], scale=scale)
        return lambda raw: _array(raw, inner)
    if kind == "numeric" and scale is not None:
        return lambda raw: _numeric(raw, scale)
    return _DECODERS[kind]


def canonical_json(text: str) -> str:
    """Return the same text for equal values of `jsonb`: without spaces, keys in one order."""
    number = decimal.Decimal
    try:
        return _canonical(json.loads(text, parse_float=number, parse_int=number))
    except (ValueError, RecursionError):
        return text  # PostgreSQL has it as it is, or not at all


def _canonical(value: object) -> str:
    if isinstance(value, dict):  # of a key that comes twice the last value counts, as in jsonb
        pairs = (f"{json.dumps(key)}:{_canonical(each)}" for key, each in sorted(value.items()))
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_canonical, value))}]"
    if isinstance(value, decimal.Decimal):
        sign, digits, exponent = value.as_tuple()
        text = "".join(map(str, digits)).lstrip("0")
        zeros = len(text) - len(text.rstrip("0"))
        assert isinstance(exponent, int)
        kept = text[: len(text) - zeros]
        return f"{'-' * sign}{kept}e{exponent + zeros}" if kept else "0"
    return json.dumps(value)


def _integer(raw: bytes) -> int:
    return int.from_bytes(raw, "big", signed=True)


def _float(raw: bytes) -> float:
    (number,) = struct.unpack(">d" if len(raw) == struct.calcsize(">d") else ">f", raw)
    return float(number)


def _day(raw: bytes) -> int | Beyond:
    number = _integer(raw)
    return _infinity(number, 32) or number + EPOCH_DAYS


def _instant(raw: bytes) -> int | Beyond:
    """Return microseconds since 1970."""
    number = _integer(raw)
    found = number + EPOCH_US
    if found.bit_length() > 63:  # PostgreSQL's times reach 29 years further than Spark's
        return _infinity(number, 64) or Beyond(shown_time(found))
    return _infinity(number, 64) or found


def _plain_time(raw: bytes) -> str | Beyond:
    """Return a time without a zone as Spark writes it."""
    number = _integer(raw)
    return _infinity(number, 64) or shown_time(number + EPOCH_US)


def _infinity(number: int, bits: int) -> Beyond | None:
    most = 1 << bits - 1
    if number in (most - 1, -most):
        return Beyond("infinity" if number > 0 else "-infinity")
    return None


def shown_time(micros: int) -> str:
    """Return microseconds since 1970 as Spark writes a time without a zone.

    Python's own dates end with the year 9999.
    """
    days, rest = divmod(micros, _DAY_US)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    parts = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{_shown_day(days)} {clock}{parts}"


def _shown_day(days: int) -> str:
    """Return a day of the proleptic Gregorian calendar; the year 0 is 1 BC, as in Spark."""
    # Years that begin in March, in eras of 400 of them: then the leap day comes last.
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    month += 3 if month < 10 else -9
    year += 400 * era + (month <= 2)
    sign = "-" if year < 0 else "+" if year > _LAST_YEAR_OF_FOUR_DIGITS else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def _numeric(raw: bytes, scale: int) -> decimal.Decimal | Beyond:
    """Return a number at a scale."""
    number = _exact_number(raw)
    if not number.is_finite():
        return Beyond(str(number))
    with decimal.localcontext(prec=200_000) as context:
        scaled = number.quantize(decimal.Decimal(1).scaleb(-scale, context))
        if scaled == number and len(scaled.as_tuple().digits) <= _DIGITS:
            return scaled
        return Beyond(f"{number.normalize(context):f}")


def _exact_number(raw: bytes) -> decimal.Decimal:
    count, weight, sign, _ = struct.unpack(">hhHh", raw[:8])
    if sign not in (0, _MINUS):
        return decimal.Decimal(_SIGNS[sign])
    groups = struct.unpack(f">{count}h", raw[8:])
    digits = "".join(f"{group:0{_BASE_DIGITS}d}" for group in groups)
    exponent = (weight - count + 1) * _BASE_DIGITS
    return decimal.Decimal(f"{_SIGNS[sign]}{digits or '0'}e{exponent}")


def _array(raw: bytes, inner: Decode) -> list[object] | Beyond:
    (dimensions,) = struct.unpack(">i", raw[:4])
    if dimensions == 0:
        return []
    length, first = struct.unpack(">ii", raw[12:20])
    if dimensions > 1 or first != 1:
        how = f"{dimensions} dimensions" if dimensions > 1 else f"a first index of {first}"
        return Beyond(f"an array with {how}: {raw[12:].hex()}")
    found, at = [], 20
    for _ in range(length):
        (size,) = struct.unpack(">i", raw[at : at + 4])
        at += 4
        found.append(None if size < 0 else inner(raw[at : at + size]))
        at += max(size, 0)
    if any(isinstance(each, Beyond) for each in found):
        shown = (each.display_name if isinstance(each, Beyond) else str(each) for each in found)
        return Beyond(f"{{{', '.join(shown)}}}")
    return found


_DECODERS: dict[str, Decode] = {
    "bool": lambda raw: raw != b"\0",
    "int2": _integer,
    "int4": _integer,
    "int8": _integer,
    "float4": _float,
    "float8": _float,
    "bytea": bytes,
    "date": _day,
    "timestamp": _plain_time,
    "timestamptz": _instant,
    "uuid": lambda raw: str(uuid.UUID(bytes=raw)),
    "jsonb": lambda raw: canonical_json(raw[1:].decode()),
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext", "json"), bytes.decode),
}
