"""The kinds of sources, and which of them wrote an offset: an offset does not name its source.

A kind is imported when the checkpoint has something that can be its. A kind that is not shipped is
made known by `register`. It is not looked for: what stands in a checkpoint loads no other code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TypeVar

import msgspec

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources.read import SourceLog
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.sources.kind import DescribedSource, Offset, SourceKind, StartTime

AnyOffset = TypeVar("AnyOffset", bound=Offset)


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """One kind: where it is, and by what it is recognised before it is imported."""

    package: str
    offset: str
    """A text that every offset of the kind has in it."""
    beginning: tuple[str, bytes] | None = None
    """How the path of the file ends that says where it began, and how the file begins."""


# The first that fits wins. None of the others can be taken for Kafka's, whose values are all
# objects; what has none of these texts in it is left for the last two.
_BUILTIN = (
    _Row(package="files", offset='"logOffset"'),
    _Row(package="delta", offset='"reservoirId"'),
    _Row(package="iceberg", offset='"snapshot_id"', beginning=("/offsets/0", b"")),
    _Row(package="auto_loader", offset='"seqNum"'),
    _Row(package="kafka", offset="{", beginning=("/0", b"\0")),
    _Row(package="rate", offset="", beginning=("/0", b"")),
)
_registered: list[SourceKind] = []


def register(kind: SourceKind) -> None:
    """Make a kind known; it is asked before all others."""
    _registered.insert(0, kind)


def unregister(kind: SourceKind) -> None:
    """Forget a kind that was registered."""
    _registered.remove(kind)


def parse_offset(text: str) -> Offset:
    """Say what an offset's text means; what is not known is opaque, never an error."""
    for kind in _kinds_of(text):
        if (offset := kind.parse(text)) is not None:
            return offset
    found = _load("unknown")[0].parse(text)
    assert found is not None
    return found


def describe_source(description: str) -> DescribedSource | None:
    """Say what a source reads that the progress of a batch describes; None when it is not known."""
    kinds = (*_registered, *(kind for row in _BUILTIN for kind in _load(row.package)))
    found = (kind.describe_source(description) for kind in kinds)
    return next((each for each in found if each is not None), None)


def offsets_of(entry: OffsetEntry, kind: type[AnyOffset]) -> dict[str, AnyOffset]:
    """Return the offsets of one kind in an entry, by source."""
    parsed = {each.source: parse_offset(each.text) for each in entry.offsets if each.text}
    return of_kind(parsed, kind)


def of_kind(offsets: Mapping[str, Offset], kind: type[AnyOffset]) -> dict[str, AnyOffset]:
    """Return those offsets that are of one kind."""
    return {source: each for source, each in offsets.items() if isinstance(each, kind)}


def began_of(log: SourceLog) -> Offset | StartTime | Unparsed | None:
    """Return where the first run of a source began; None when it keeps a log of files instead."""
    began = log.began
    if began is None or isinstance(began, Unparsed):
        return began
    for kind in (*_registered, *_kinds_of_beginning(began.path, began.raw)):
        if (found := kind.parse_beginning(began.path, began.raw)) is not None:
            return found
    return None


def beginnings(checkpoint: Checkpoint) -> dict[str, Offset]:
    """Return where the first run of each source began, where the source keeps it."""
    found = {log.name: began_of(log) for log in checkpoint.sources}
    return {name: each for name, each in found.items() if isinstance(each, Offset)}


def unparsed_of(checkpoint: Checkpoint) -> tuple[Unparsed, ...]:
    """Return everything of a checkpoint that is there and was not understood."""
    known = checkpoint.unparsed
    began = map(began_of, checkpoint.sources)
    return (*known, *(each for each in began if isinstance(each, Unparsed) and each not in known))


def _kinds_of(text: str) -> Iterator[SourceKind]:
    yield from _registered
    for row in _BUILTIN:
        if row.offset in text:
            yield from _load(row.package)


def _kinds_of_beginning(path: str, raw: bytes) -> Iterator[SourceKind]:
    for row in _BUILTIN:
        ending, start = row.beginning or ("", b"")
        # Below `sources/<name>`: a source can be named as a directory of another kind.
        is_there = path.endswith(ending) and path.count("/") == ending.count("/") + 1
        if ending and is_there and raw.startswith(start):
            yield from _load(row.package)
            return


@cache
def _load(package: str) -> tuple[SourceKind, ...]:
    found: tuple[SourceKind, ...] = import_module(f"{__package__}.{package}.kind").KINDS
    return found
