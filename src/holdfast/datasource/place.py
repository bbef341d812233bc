"""G1 of the data source: where its stream is, from its options. Nothing is written.

Spark calls the data source when it has planned a batch already. So the first batch of a stream
stands in its checkpoint before Holdfast is asked, and it is left out of what is judged then.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace

from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.whole import read_whole
from holdfast.errors import HoldfastError
from holdfast.ids import BatchId
from holdfast.record.generations import ADOPTED, OPENED, current_generation
from holdfast.record.layout import checkpoint_location, record_location
from holdfast.sinks.session import place_of, writer_of
from holdfast.storage.local import is_same_place
from holdfast.storage.location import Location, parse_location
from holdfast.streams.place import Place, find_place

if TYPE_CHECKING:
    from holdfast.datasource.options import Asked
    from holdfast.storage.read import FileInfo, Listing, Page
    from holdfast.storage.write import Writer

_FIRST = f"{OFFSETS}/0"


class OtherCheckpointError(HoldfastError):
    """Spark runs the query on another checkpoint than the stream's."""

    code = "OTHER_CHECKPOINT"

    def __init__(self, stream: str, *, given: Location, own: str) -> None:
        super().__init__(
            what=f"{stream} was not started; nothing was written.",
            why=f"Spark runs it on the checkpoint {given}, and its checkpoint is {own}. A query "
            "that begins on another checkpoint reads everything again: so does a full refresh of a "
            "pipeline, and a sink keeps what it has.",
            how="Start it with hf.guard_options, which names the stream's checkpoint. To begin "
            "again with an empty output, run `holdfast plan reset`; for a full refresh of a "
            "pipeline, give the flow a stream name and a table of its own.",
        )


def find_source_place(asked: Asked) -> Place:
    """Find the stream of a query that Spark runs already.

    Raises:
        OtherCheckpointError: It runs on another checkpoint than the stream's.
        HoldfastError: The record or the checkpoint cannot be used.
    """
    home = place_of(None, asked.root)
    known = current_generation(writer_of(None, record_location(home, asked.stream)))
    if known is not None and not is_same_place(parse_location(known.checkpoint), asked.checkpoint):
        raise OtherCheckpointError(asked.stream, given=asked.checkpoint, own=known.checkpoint)
    if known is not None:
        return find_place(None, asked.stream, asked.root)
    place = find_place(None, asked.stream, asked.root, checkpoint=str(asked.checkpoint))
    first = checkpoint_location(home, asked.stream, 1)
    if place.generation.first_batch or not is_same_place(first, asked.checkpoint):
        return place
    opened = replace(place.generation, why=OPENED, checkpoint=str(first))
    return replace(place, generation=opened)


def before_first_batch(place: Place, *, since_ms: int | None) -> Place:
    """Return a place as it was before Spark planned its first batch, where nobody can have run it.

    Below the root, only Holdfast's options lead to the checkpoint. Elsewhere another query may have
    planned the batch, and have written some of it: unless this driver's process is the older one.

    Args:
        place: Of a stream that no sink has a row of.
        since_ms: When the process of this driver began; None where that is not known.
    """
    checkpoint = place.checkpoint
    if checkpoint.list(COMMITS).files or not _is_first_alone(checkpoint):
        return place
    if place.generation.why == ADOPTED and not _is_planned_since(checkpoint, since_ms):
        return place
    return replace(place, checkpoint=cast("Writer", _BeforeFirstBatch(checkpoint)))


def _is_first_alone(checkpoint: Writer) -> bool:
    files = (info.path for info in checkpoint.list(OFFSETS).files)
    return [path for path in files if not posixpath.basename(path).startswith(".")] == [_FIRST]


def _is_planned_since(checkpoint: Writer, since_ms: int | None) -> bool:
    raw = read_whole(checkpoint, _FIRST)
    entry = parse_offset_entry(_FIRST, BatchId(0), raw) if isinstance(raw, bytes) else None
    if since_ms is None or not isinstance(entry, OffsetEntry) or entry.metadata is None:
        return False
    return entry.metadata.batch_timestamp_ms >= since_ms


L = TypeVar("L", bound="Listing")


class _BeforeFirstBatch:
    """A checkpoint without its first batch."""

    def __init__(self, checkpoint: Writer) -> None:
        self._checkpoint = checkpoint

    def __getattr__(self, name: str) -> object:
        return getattr(self._checkpoint, name)

    def list(self, directory: str = "") -> Listing:
        return _without_first(self._checkpoint.list(directory))

    def list_after(self, directory: str, after: str) -> Page:
        return _without_first(self._checkpoint.list_after(directory, after))

    def stat(self, path: str) -> FileInfo | None:
        return None if path == _FIRST else self._checkpoint.stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        return None if path == _FIRST else self._checkpoint.read(path, start=start, length=length)


def _without_first(found: L) -> L:
    return replace(found, files=tuple(each for each in found.files if each.path != _FIRST))
