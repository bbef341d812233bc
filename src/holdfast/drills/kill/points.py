"""Where a driver is to be struck, by name.

A point is a value. It reaches the driver by its environment (what is preloaded, and points inside
Python code) or by the proxy in front of S3. Whichever it is, what strikes writes the point's name
into the *fired* file first: a kill that did not happen at its point cannot pass for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

When = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Rename:
    """The n-th rename to a path that ends with `target`, on local disk: `offsets/1`."""

    when: When
    target: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.when}:{self.target}:{self.nth}"


@dataclass(frozen=True, slots=True)
class Delete:
    """The n-th deletion of a path that ends with `target`, on local disk."""

    when: When
    target: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.when}-delete:{self.target}:{self.nth}"


@dataclass(frozen=True, slots=True)
class S3Request:
    """The n-th matching request to S3: `before` it is passed on, or `after` its answer."""

    when: When
    pattern: str
    """Regular expression, searched in the path without its query."""
    nth: int = 1
    method: str = "PUT"

    def __str__(self) -> str:
        return f"{self.when}:{self.method} {self.pattern}:{self.nth}"


@dataclass(frozen=True, slots=True)
class Send:
    """The n-th time that a process sends these bytes, in one piece and unencrypted: `COMMIT`.

    `after` they are out the server does what they ask, and nobody hears of it.
    """

    when: When
    what: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.when}-send:{self.what}:{self.nth}"


@dataclass(frozen=True, slots=True)
class Named:
    """The n-th time the driver's Python code reaches this point of `holdfast.points`."""

    name: str
    nth: int = 1

    def __str__(self) -> str:
        return f"at:{self.name}:{self.nth}"


Point = Rename | Delete | S3Request | Send | Named
