"""What the source of a program says of one query, as values: each with file and line."""

from __future__ import annotations

import msgspec


class Written(msgspec.Struct, frozen=True):
    """A value of the program."""

    value: str | None
    """None if the code computes all of it."""
    place: str
    """`jobs/orders.py:41`."""


class QueryInCode(msgspec.Struct, frozen=True, kw_only=True):
    """What the program says of a query."""

    place: str
    """Where it is started."""
    names: tuple[str, ...] = ()
    """Its own name, then those of the functions around its start."""
    source: Written
    """What it reads."""
    sink: Written
    output_mode: Written
    trigger: Written
    checkpoint: Written
    is_other: bool = False
    """Whether the code names another checkpoint than the one that is looked at."""


class NoQuery(msgspec.Struct, frozen=True):
    """Why the program does not tell."""

    why: str
