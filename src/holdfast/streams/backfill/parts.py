"""How much a range has of each source, and how much of that is still there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from holdfast.sources.kind import ONLY, Offset
from holdfast.streams.backfill.available import Available
from holdfast.streams.backfill.positions import Position


class PartRange(msgspec.Struct, frozen=True, kw_only=True):
    """One partition of a topic, or one source of another kind."""

    display_name: str
    """`readings/0`, or `versions`."""
    start: int
    end: int
    """Not part of the range."""
    expired: int = 0
    """How many of it are gone for good."""


class SourcePart(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill reads of one source."""

    source: str
    unit: str
    """What is counted: `offsets`, `versions`, or `entries` of the log of files."""
    parts: tuple[PartRange, ...]

    @property
    def size(self) -> int:
        """How much is in the range."""
        return sum(part.end - part.start for part in self.parts)

    @property
    def expired(self) -> int:
        """How much of it is gone for good."""
        return sum(part.expired for part in self.parts)


def source_parts(
    start: Position, end: Position, available: Mapping[str, Available]
) -> tuple[SourcePart, ...]:
    """Return what a range has of each source."""
    return tuple(
        SourcePart(
            source=source,
            unit=after.kind.parts_unit,
            parts=tuple(_parts(start[source], after, available.get(source))),
        )
        for source, after in end.items()
    )


def _parts(start: Offset, end: Offset, available: Available | None) -> Iterator[PartRange]:
    before, oldest = start.numbers(), available.oldest if available else {}
    log = "entries of the file log" if end.log_index is not None else end.kind.parts_unit
    for part, at in sorted(end.numbers().items()):
        begins = before[part]
        yield PartRange(
            display_name=log if part == ONLY else f"{part[0]}/{part[1]}",
            start=begins,
            end=at,
            expired=max(min(oldest.get(part, begins), at) - begins, 0),
        )
