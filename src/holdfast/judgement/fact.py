"""One fact of a stream: what is known, where it was read, and what would tell it."""

from __future__ import annotations

from shlex import quote
from typing import NamedTuple

import msgspec

from holdfast.evidence.case import Case

DRIVER_LOG = "DRIVER.LOG"
"""In a command: what the reader puts in."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One fact."""

    number: int
    name: str
    value: str | None
    """None when it is not known."""
    where: str
    """Where it was read; of one that is not known, why not and how to find it out."""
    command: str | None = None
    """The command that would tell it, or the rest of it; None when nothing is missing."""


class Found(NamedTuple):
    """A fact before it has its number."""

    name: str
    value: str | None
    where: str
    command: str | None = None


def facts_command(case: Case, *options: str) -> str:
    """Return `holdfast facts` for the same stream or checkpoint, with more to look at."""
    where = quote(str(case.checkpoint.location))
    if case.root is not None and case.stream_name:
        where = f"{case.stream_name} --root {quote(case.root)}"
    return " ".join(("holdfast facts", where, *options))
