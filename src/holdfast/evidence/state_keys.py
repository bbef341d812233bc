"""Which keys of state are asked for: conditions as people type them, held against decoded keys.

Decoding a key takes ten times as long as reading it. A key is therefore first searched for the
bytes that the value would have in it, by the types of the key's columns.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from types import NoneType
from typing import Any

import msgspec

from holdfast.checkpoint.state.unsafe_row import Fields, NotDecoded, RowDecoder, Value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=64)


class KeyCondition(msgspec.Struct, frozen=True, kw_only=True):
    """One condition: a column has a value, or any column of the key has it."""

    typed: str
    name: str | None
    """Of the column, with dots where it is inside a struct; None for any."""
    text: str
    """The value as text."""
    moment: datetime | None
    """The value as a time, in UTC unless it says otherwise; None when it is none."""

    def matches(self, key: Fields | NotDecoded) -> bool | None:
        """Return whether a key fulfils it; None when what it asks for is not decoded."""
        if isinstance(key, NotDecoded):
            return None
        named = [value for name, value in leaves(key) if self.is_about(name)]
        if any(map(self._has, named)):
            return True
        return None if any(isinstance(each, NotDecoded) for each in named) else False

    def is_about(self, name: str) -> bool:
        """Return whether it asks for a column."""
        return self.name is None or name == self.name or name.endswith(f".{self.name}")

    def _has(self, value: Value) -> bool:
        if isinstance(value, datetime):
            return self.moment is not None and self.moment == value.replace(tzinfo=UTC)
        say = _TEXTS.get(type(value))
        return say is not None and self.text in say(value)


def parse_condition(typed: str) -> KeyCondition:
    """Return the condition of `NAME=VALUE`, or of a value alone."""
    name, equals, text = typed.partition("=")
    if not equals:
        name, text = "", typed
    return KeyCondition(typed=typed, name=name or None, text=text, moment=_parse_moment(text))


def _parse_moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.removesuffix(" UTC"))
    except ValueError:
        return None
    try:
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except OverflowError:
        return None


def leaves(key: Fields, before: str = "") -> Iterator[tuple[str, Value]]:
    """Yield every column with its name; those inside a struct with dots."""
    for name, value in key.items:
        if isinstance(value, Fields):
            yield from leaves(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


class KeyMatcher:
    """Says of a key whether all conditions hold."""

    def __init__(
        self, conditions: Collection[KeyCondition], decode: RowDecoder, kinds: Collection[str]
    ) -> None:
        """Prepare the search.

        Args:
            conditions: All must hold.
            decode: Decodes a key.
            kinds: The names of all types in the key.
        """
        self._conditions = conditions
        self._decode = decode
        self._signs = [each for one in conditions if (each := _signs(one, kinds)) is not None]
        self.unknown = 0
        """Keys of which that is not known: what is asked for in them is not decoded."""

    def __call__(self, raw: bytes) -> bool:
        """Return whether a key is asked for."""
        for patterns in self._signs:
            if not any(pattern in raw for pattern in patterns):
                return False
        key = self._decode(raw)
        found = [each.matches(key) for each in self._conditions]
        if None in found and False not in found:
            self.unknown += 1
        return all(found)


def _signs(condition: KeyCondition, kinds: Collection[str]) -> tuple[bytes, ...] | None:
    """Return bytes of which a key that fulfils a condition has one; None when nothing is known."""
    if condition.text == "null" or not all(kind in _SIGNS for kind in kinds):
        return None
    found = (_sign_of(condition, kind) for kind in kinds)
    return tuple(each for each in found if each is not None)


def _sign_of(condition: KeyCondition, kind: str) -> bytes | None:
    """Return the bytes that a value has in a row; None when it cannot be of this type."""
    try:
        return _SIGNS[kind](condition)
    except (ValueError, OverflowError, struct.error):
        return None


def _micros(condition: KeyCondition) -> bytes | None:
    if condition.moment is None:
        return None
    return struct.pack("<q", (condition.moment - _EPOCH) // timedelta(microseconds=1))


_SIGNS: Mapping[str, Callable[[KeyCondition], bytes | None]] = {
    "string": lambda asked: asked.text.encode("utf-8", "surrogateescape"),
    "short": lambda asked: struct.pack("<h", int(asked.text)),
    "integer": lambda asked: struct.pack("<i", int(asked.text)),
    "long": lambda asked: struct.pack("<q", int(asked.text)),
    "timestamp": _micros,
    "timestamp_ntz": _micros,
}
"""Of other types a key is decoded in any case."""
_TEXTS: Mapping[type, Callable[[Any], tuple[str, ...]]] = {
    NoneType: lambda _: ("null",),
    bool: lambda value: ("true" if value else "false",),
    str: lambda value: (value,),
    bytes: lambda value: (value.hex(),),
    Decimal: lambda value: (f"{value:f}", f"{value.normalize(_EXACT):f}"),
    int: lambda value: (str(value),),
    float: lambda value: (str(value),),
    date: lambda value: (str(value),),
}
"""Every way in which people write a value; none for one that is not decoded."""
