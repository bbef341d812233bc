"""Whether a value is what its type says, all the way down."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, NewType, Union, get_args, get_origin, get_type_hints

import msgspec


def fits(value: object, kind: Any) -> bool:
    """Return whether a value, and everything in it, has the types that are declared."""
    if isinstance(kind, NewType):
        return fits(value, kind.__supertype__)
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (Any, object):
        return True
    if origin in (types.UnionType, Union):
        return any(fits(value, each) for each in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(fits(each, inner[0]) for each in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, dict) and all(
            fits(key, inner[0]) and fits(each, inner[1]) for key, each in value.items()
        )
    return _fits_class(value, type(None) if kind is None else kind)


def _fits_class(value: object, kind: type) -> bool:
    if type(value) is not kind:  # a bool is no int here
        return False
    if not dataclasses.is_dataclass(kind) and not issubclass(kind, msgspec.Struct):
        return True
    return all(fits(getattr(value, name), each) for name, each in _fields(kind).items())


@cache
def _fields(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {name: each for name, each in hints.items() if get_origin(each) is not ClassVar}
