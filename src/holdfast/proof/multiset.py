"""Exact comparison of what a table must hold with what it holds, row by row, duplicates counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import msgspec


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How a table differs from what it must hold; counts are rows."""

    expected: int
    missing: int
    duplicated: int
    """Copies beyond the expected number of a row that belongs there."""
    foreign: int
    """Rows that do not belong there even once."""

    @property
    def exact(self) -> bool:
        """Whether the two multisets are equal."""
        return not (self.missing or self.duplicated or self.foreign)


def compare(expected: Iterable[Hashable], found: Iterable[Hashable]) -> Difference:
    """Compare two multisets of rows."""
    wanted, there = Counter(expected), Counter(found)
    surplus = there - wanted
    foreign = sum(count for row, count in surplus.items() if row not in wanted)
    return Difference(
        expected=wanted.total(),
        missing=(wanted - there).total(),
        duplicated=surplus.total() - foreign,
        foreign=foreign,
    )
