"""Values of state as people read them, and as JSON has them. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any

from holdfast.checkpoint.state.unsafe_row import Fields, NotDecoded, Value

_LONGEST = 120
_SURROGATES = re.compile("[\ud800-\udfff]")

Json = None | bool | int | float | str | dict[str, "Json"]


def say_value(value: Value) -> str:
    """Return a value in one line; long texts are cut, with their length."""
    say = _SAY.get(type(value))
    return str(value) if say is None else say(value)


def _say_text(value: str) -> str:
    shown = json.dumps(value[:_LONGEST], ensure_ascii=False)
    return f"{shown}… ({len(value):,} characters)" if len(value) > _LONGEST else shown


def _say_bytes(value: bytes) -> str:
    more = f"… ({len(value):,} bytes)" if len(value) > _LONGEST else ""
    return f"0x{value[:_LONGEST].hex()}{more}"


def _say_time(value: datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(sep=" ")
    return f"{text} UTC" if value.tzinfo is UTC else text


def _say_fields(value: Fields) -> str:
    match value.items:
        case (("start", datetime() as start), ("end", datetime() as end)):
            # A window of Spark's: both ends have the same date more often than not.
            return f"{start.replace(tzinfo=None).isoformat(sep=' ')} … {_say_time(end)}"
        case items:
            return "{" + ", ".join(f"{name}: {say_value(each)}" for name, each in items) + "}"


def json_value(value: Value) -> Json:
    """Return a value for JSON: what JSON has no type for as text, in UTC and without rounding."""
    give = _JSON.get(type(value))
    if give is None:
        return value  # type: ignore[return-value]  # null, a boolean or a whole number
    found: Json = give(value)
    return found


def clean_text(text: str) -> str:
    """Return a text that can be UTF-8: bytes that are none were kept as lone surrogates."""
    return _SURROGATES.sub("\ufffd", text)


_SAY: Mapping[type, Callable[[Any], str]] = {
    NoneType: lambda _: "null",
    bool: lambda value: "true" if value else "false",
    str: _say_text,
    bytes: _say_bytes,
    datetime: _say_time,
    Decimal: lambda value: f"{value:f}",
    Fields: _say_fields,
    NotDecoded: lambda value: f"({value.what} is not decoded)",
}
_JSON: Mapping[type, Callable[[Any], Json]] = {
    str: clean_text,
    bytes: lambda value: value.hex(),
    float: lambda value: value if math.isfinite(value) else str(value),
    date: lambda value: value.isoformat(),
    datetime: lambda value: value.isoformat().replace("+00:00", "Z"),
    Decimal: lambda value: f"{value:f}",
    Fields: lambda value: {clean_text(name): json_value(each) for name, each in value.items},
    NotDecoded: lambda value: {"not_decoded": clean_text(value.what)},
}
