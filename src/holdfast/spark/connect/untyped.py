"""Private parts of PySpark over Spark Connect, and messages of its protocol: no types are there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast


class Untyped(Protocol):
    """An object of PySpark or protobuf: what it has is known there alone.

    `str`, `int` and `bool` say what is meant.
    """

    def __getattr__(self, name: str, /) -> Untyped: ...
    def __call__(self, *given: object, **named: object) -> Untyped: ...  # noqa: D102 - as it has
    def __iter__(self) -> Iterator[Untyped]: ...
    def __bool__(self) -> bool: ...


def untyped(given: object) -> Untyped:
    """Return an object of PySpark as what it is beyond the documented API."""
    return cast("Untyped", given)
