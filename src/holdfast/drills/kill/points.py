"""Where a driver is to be struck, by name.

A point is a value. It reaches the driver by its environment (what is preloaded, and points inside
Python code), or something outside the driver watches for it. Whichever it is, what strikes writes
the point's name into the *fired* file first: a kill that did not happen at its point cannot pass
for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from holdfast.errors import ConfigError

When = Literal["before", "after"]


class Rename(msgspec.Struct, frozen=True):
    """The n-th rename to a path that ends with `target`, on local disk: `offsets/1`."""

    when: When
    target: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.when}:{self.target}:{self.nth}"


class Delete(msgspec.Struct, frozen=True):
    """The n-th deletion of a path that ends with `target`, on local disk."""

    when: When
    target: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.when}-delete:{self.target}:{self.nth}"


class Send(msgspec.Struct, frozen=True):
    """The n-th time that a process sends these bytes, in one piece and unencrypted: `COMMIT`.

    `after` they are out the server does what they ask, and nobody hears of it.
    """

    when: When
    what: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.when}-send:{self.what}:{self.nth}"


class Named(msgspec.Struct, frozen=True):
    """The n-th time the driver's Python code reaches this point of `holdfast.points`."""

    name: str
    nth: int = 1

    def __str__(self) -> str:
        return f"at:{self.name}:{self.nth}"


class OutsidePoint:
    """A point that something outside the driver watches for: the `Striker` of the driver."""

    __slots__ = ()


Point = Rename | Delete | Send | Named | OutsidePoint
_WRITTEN = re.compile(r"(before|after|at)(-delete|-send)?:([^:]+)(?::([1-9][0-9]*))?")
_KINDS: dict[str | None, Callable[[When, str, int], Point]] = {
    None: Rename,
    "-delete": Delete,
    "-send": Send,
}


def parse_point(text: str) -> Point:
    """Return the point that is written so: `before:offsets/1`, `after-send:COMMIT:3`, `at:S5`.

    Raises:
        ConfigError: It is not written as a point is.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None or (found[1] == "at" and found[2]):
        raise ConfigError(
            f"{text!r} is no point: write before:ENDING[:N] or after:ENDING[:N] of a rename, "
            "before-delete:ENDING[:N], before-send:BYTES[:N] and so on, or at:NAME[:N]."
        )
    nth = int(found[4] or 1)
    if found[1] == "at":
        return Named(found[3], nth)
    return _KINDS[found[2]]("before" if found[1] == "before" else "after", found[3], nth)
