"""What a stream reads between two positions, source by source: exact, or why it is not known.

A position is the offsets of every source as canonical JSON, as a ledger row and `read_coverage`
have them. Before the first batch it is `{}`; then where each source began is read from the
checkpoint: Kafka keeps it in `sources/<i>/0`, Delta and file sources begin at their beginning.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

import msgspec

from holdfast.checkpoint.text import canonical, parse_json_object
from holdfast.complete import StrictABC
from holdfast.sources.kind import Offset, Part, load
from holdfast.sources.reading import Make, NoBatchForm, Opening, Reading
from holdfast.sources.registry import parse_offset
from holdfast.storage.read import Reader

Interval = tuple[int, int]
"""From the first number up to but not including the second."""


class SourceRange(StrictABC, abstract=True):
    """What one source gives between two positions. Immutable."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether nothing is in it."""

    @abstractmethod
    def merge(self, others: Sequence[SourceRange]) -> Sequence[SourceRange] | None:
        """Return ranges that have all of this one and others, each record once.

        None when they are not of one source.
        """

    @abstractmethod
    def open(self, opening: Opening) -> Make | NoBatchForm:
        """Return what opens a batch DataFrame with exactly this range.

        Args:
            opening: The session, and what the code reads.
        """

    @property
    def records(self) -> int | None:
        """How many records it spans; None for a source that does not count them."""
        return None

    @property
    def begins_later(self) -> object:
        """Where it begins, as `--from` takes it; None when it begins with the oldest record."""
        return None

    @property
    def begins_by_options(self) -> bool:
        """Whether an option of the source can say that it begins later."""
        return False

    def by_options(self, reading: Reading) -> SourceRange | NoBatchForm:
        """Return it as it begins with the options that the code gives."""
        return self

    def without_expired(self, earliest: Mapping[Part, int]) -> SourceRange:
        """Return it without what is older than the oldest that the source still has."""
        return self

    def given(self, end: Offset) -> tuple[object, object] | None:
        """Return its beginning and its end as people write them; None when they cannot.

        Args:
            end: The offset that it ends with.
        """
        return None


class NoRange(msgspec.Struct, frozen=True, kw_only=True):
    """It is not known what a source gave between two positions."""

    source: str
    """Its number in the checkpoint, or its name; empty when it concerns all."""
    reason: str

    def __str__(self) -> str:
        return f"source {self.source}: {self.reason}" if self.source else self.reason


Ranges = Mapping[str, SourceRange]
"""By a source's number in the checkpoint (`0`), or its name."""


def read_ranges(reader: Reader, *, start: str, end: str) -> Ranges | NoRange:
    """Return what each source gives between two positions.

    Args:
        reader: Of the checkpoint.
        start: Where to begin; `{}` is before the first batch.
        end: Where to end.

    Raises:
        ReadError: A directory of the checkpoint cannot be listed.
    """
    begins, ends = parse_json_object(start), parse_json_object(end)
    if begins is None or ends is None:
        return NoRange(source="", reason="its offsets are not a JSON object")
    found: dict[str, SourceRange] = {}
    for source, value in ends.items():
        before = None if begins.get(source) is None else _offset(begins[source])
        each = _range(reader, source, before, end=_offset(value))
        if isinstance(each, NoRange):
            return each
        found[source] = each
    return found


def _offset(value: object) -> Offset:
    return parse_offset(value if isinstance(value, str) else canonical(value))


def _range(
    reader: Reader, source: str, start: Offset | None, *, end: Offset
) -> SourceRange | NoRange:
    if start is not None and type(start) is not type(end):
        return NoRange(source=source, reason="its offsets at the start are of another kind")
    if not end.kind.ranges:
        kind = type(end).__name__.removesuffix("Offset")
        reason = (
            f"a range of a source of this kind ({kind}) cannot be read again"
            if end.kind.is_known
            else "Holdfast does not know the kind of this source"
        )
        return NoRange(source=source, reason=reason)
    found: SourceRange | str = load(end.kind.ranges)(reader, source, start=start, end=end)
    return NoRange(source=source, reason=found) if isinstance(found, str) else found


def merge_ranges(parts: Sequence[Ranges]) -> tuple[Ranges, ...] | NoRange:
    """Return ranges that together have all of others, each record once.

    More than one where something in between is in none of them.

    Args:
        parts: Ranges, which may overlap.
    """
    sources = dict.fromkeys(source for part in parts for source in part)
    found: dict[str, Sequence[SourceRange]] = {}
    for source in sources:
        ranges = [part[source] for part in parts if source in part]
        merged = ranges[0].merge(ranges) if len(set(map(type, ranges))) == 1 else None
        if merged is None:
            return NoRange(source=source, reason="it was replaced by another source in between")
        found[source] = merged
    rows = zip_longest(*found.values())
    return tuple(
        {source: each for source, each in zip(found, row, strict=True) if each is not None}
        for row in rows
    )


def join_intervals(spans: Iterable[Interval]) -> list[Interval]:
    """Return intervals without overlap, sorted; those that touch are one, empty ones are gone."""
    found: list[Interval] = []
    for first, last in sorted(spans):
        if first >= last:
            continue
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
