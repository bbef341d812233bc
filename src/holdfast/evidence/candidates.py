"""Recognises checkpoints by their listing, and says where to look for more of them.

A checkpoint is recognised by its `offsets` or `commits` directory, its `metadata` file, or state
and source logs without those. Holdfast's own `_holdfast` directories are no checkpoints, and
neither are the data directories of tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES, STATE
from holdfast.errors import HoldfastError
from holdfast.evidence.guard_record import split_generation
from holdfast.record.generations import ADOPTED, current_generation, newest_generation
from holdfast.record.layout import HOME, is_stream_name
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location, is_inside, parse_location
from holdfast.storage.read import Listing, Reader

_TABLES = frozenset({"_delta_log", "_spark_metadata"})
"""What a directory of data has: its partitions hold no checkpoints."""
_SKIPPED = _TABLES | {HOME, "_change_data", "_temporary"}


class CheckpointCandidate(NamedTuple):
    """A directory that may be a checkpoint, or may have some below it."""

    path: str
    """From the location that is searched."""
    is_beside_record: bool = False
    """Whether Holdfast keeps a record in the directory that it is in."""
    replaced_by: int | None = None
    """The generation that replaced it; None when it is current."""
    is_missing: bool = False
    """Whether a stream has a record and no directory here: it may have adopted a checkpoint."""
    adopted_from: Location | None = None
    """Where the checkpoint is that a stream adopted from elsewhere."""


def is_checkpoint(reader: Reader, listing: Listing, directory: str = "") -> bool:
    """Return whether a directory is a checkpoint, or what is left of one.

    Args:
        reader: Of the directory, or of one above it.
        listing: Of the directory.
        directory: Its path from the reader's location.

    Raises:
        ReadError: A directory in it cannot be listed.
    """
    files = {info.path.rpartition("/")[2] for info in listing.files}
    if not {OFFSETS, COMMITS}.isdisjoint({*files, *listing.directories}) or METADATA in files:
        return True
    # Directories of these names can be anything; below Spark's, everything has a number.
    for name in {STATE, SOURCES}.intersection(listing.directories):
        inside = reader.list(join_path(directory, name))
        if inside.directories and all(each.isdecimal() for each in inside.directories):
            return True
    return False


def find_candidates(reader: Reader, directory: str, listing: Listing) -> list[CheckpointCandidate]:
    """Return where to look on below a directory that is no checkpoint.

    Args:
        reader: Of the location that is searched.
        directory: Its path from there.
        listing: Of the directory.

    Raises:
        ReadError: Holdfast's record in it cannot be listed.
    """
    names = [name for name in listing.directories if name not in _SKIPPED]
    if not _TABLES.isdisjoint(listing.directories):
        names = [name for name in names if "=" not in name]
    has_record = HOME in listing.directories
    newest = _newest_generations(reader, directory, names) if has_record else {}
    places = []
    for name in names:
        stream, number = split_generation(name)
        current = newest.get(stream, number)
        replaced_by = current if number < current else None
        places.append(CheckpointCandidate(join_path(directory, name), has_record, replaced_by))
    if has_record:
        here = {split_generation(name)[0] for name in names}
        streams = reader.list(join_path(directory, HOME)).directories
        places += [
            CheckpointCandidate(
                join_path(directory, stream), is_beside_record=True, is_missing=True
            )
            for stream in streams
            if stream not in here and is_stream_name(stream)
        ]
    return places


def find_adopted(reader: Reader, path: str) -> Location | None:
    """Return where the checkpoint is that a stream adopted from outside the searched location.

    Args:
        reader: Of the location that is searched.
        path: Where the stream's own checkpoint would be.

    Raises:
        ReadError: Holdfast's record cannot be read.
    """
    above, _, stream = path.rpartition("/")
    record = SubdirReader(reader, f"{join_path(above, HOME)}/{stream}")
    generation = current_generation(record)
    if generation is None or generation.why != ADOPTED:
        return None
    there = parse_location(generation.checkpoint)
    return None if is_inside(there, reader.location) else there


def _newest_generations(reader: Reader, directory: str, names: list[str]) -> Mapping[str, int]:
    """Return the newest generation of each stream that has more than its first."""
    split = [split_generation(name) for name in names]
    found = {}
    for stream in {stream for stream, number in split if number > 1}:
        try:
            below = f"{join_path(directory, HOME)}/{stream}/"
            found[stream] = newest_generation(reader, below=below)
        except HoldfastError:
            continue  # then none counts as replaced, and each is judged
    return found


def join_path(directory: str, name: str) -> str:
    """Return the path of something in a directory; the empty path is the location itself."""
    return f"{directory}/{name}" if directory else name
