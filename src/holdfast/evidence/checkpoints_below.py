"""Finds the checkpoints below a directory, and judges each as far as a few requests allow.

A checkpoint is recognised by its `offsets` or `commits` directory, its `metadata` file, or state
and source logs without those. Nothing inside one is searched: `state/` alone may have millions of
objects. Holdfast's own `_holdfast` directories are no checkpoints; a checkpoint whose generation
was replaced is named and not judged. Links are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES, STATE
from holdfast.errors import HoldfastError
from holdfast.evidence.collect import collect_among_many
from holdfast.evidence.guard_record import (
    GuardRecord,
    read_guard_record,
    settle_state,
    split_generation,
)
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.overview import Overview, overview_of
from holdfast.record.generations import ADOPTED, current_generation, newest_generation
from holdfast.record.layout import HOME, is_stream_name
from holdfast.spark_versions import SparkVersion
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location, is_inside, parse_location
from holdfast.storage.read import Listing, Reader

T = TypeVar("T")
WORKERS = 8
MOST_DIRECTORIES = 100_000
"""So many directories are searched, and no more: a data lake has millions."""
_TABLES = frozenset({"_delta_log", "_spark_metadata"})
"""What a directory of data has: its partitions hold no checkpoints."""
_SKIPPED = _TABLES | {HOME, "_change_data", "_temporary"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[T]):
    """One checkpoint, or a directory that could not be read."""

    path: str
    """From the directory that was searched; its location, where that is elsewhere."""
    location: Location
    summary: T | None = None
    """None when it was not judged."""
    unread: str | None = None
    """Why it could not be read; None when it could."""
    remedy: str | None = None
    """What makes it readable."""
    replaced_by: int | None = None
    """The generation that replaced it; None when it is current, or Holdfast does not guard it."""


class _Place(NamedTuple):
    path: str
    is_beside_record: bool = False
    replaced_by: int | None = None
    is_missing: bool = False
    """Whether a stream has a record and no directory here: it may have adopted a checkpoint."""
    adopted_from: Location | None = None


class _Looked(NamedTuple, Generic[T]):
    found: Found[T] | None
    below: list[_Place]


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
        inside = reader.list(_join(directory, name))
        if inside.directories and all(each.isdecimal() for each in inside.directories):
            return True
    return False


class Search(Generic[T]):
    """Searches a directory."""

    def __init__(
        self,
        reader: Reader,
        summarise: Callable[[Overview, GuardRecord | None], T],
        *,
        open_at: Callable[[Location], Reader],
        spark: SparkVersion | None = None,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            reader: Of the directory.
            summarise: Makes of what is known of a checkpoint what is kept of it.
            open_at: Opens a reader of a checkpoint that a stream adopted from elsewhere.
            spark: The version that will be started; by default the newest that can have written
                each.
        """
        self._reader = reader
        self._summarise = summarise
        self._open_at = open_at
        self._spark = spark
        self.directories = 0
        """How many have been searched so far."""

    def run(self) -> Iterator[Found[T]]:
        """Yield every checkpoint below the directory, and what could not be read.

        Raises:
            ReadError: The directory itself cannot be listed.
        """
        waiting = self._places("", self._reader.list())
        pool = ThreadPoolExecutor(WORKERS)
        try:
            while waiting:
                room = MOST_DIRECTORIES - self.directories
                level, left_out = waiting[:room], waiting[room:]
                waiting = []
                for looked in pool.map(self._look, level):
                    self.directories += 1
                    waiting += looked.below
                    if looked.found is not None:
                        yield looked.found
                if left_out:
                    yield self._unread(
                        left_out[0],
                        f"The search ended after {MOST_DIRECTORIES:,} directories.",
                        remedy="Inspect a directory further down.",
                    )
                    return
        finally:
            pool.shutdown(cancel_futures=True)

    def _look(self, place: _Place) -> _Looked[T]:
        try:
            if place.is_missing:
                return _Looked(self._look_elsewhere(place), [])
            listing = self._reader.list(place.path)
            if not is_checkpoint(self._reader, listing, place.path):
                return _Looked(None, self._places(place.path, listing))
            return _Looked(self._judge(place, SubdirReader(self._reader, place.path)), [])
        except HoldfastError as error:
            return _Looked(self._unread(place, error.why, remedy=error.how), [])

    def _look_elsewhere(self, place: _Place) -> Found[T] | None:
        """Judge a checkpoint that a stream adopted; None if it did not, or the search finds it."""
        above, _, stream = place.path.rpartition("/")
        record = SubdirReader(self._reader, f"{_join(above, HOME)}/{stream}")
        generation = current_generation(record)
        if generation is None or generation.why != ADOPTED:
            return None
        there = parse_location(generation.checkpoint)
        if is_inside(there, self._reader.location):
            return None
        return self._judge(place._replace(adopted_from=there), self._open_at(there))

    def _judge(self, place: _Place, reader: Reader) -> Found[T]:
        name, location = self._named(place)
        if place.replaced_by is not None:
            return Found(path=name, location=location, replaced_by=place.replaced_by)
        overview = overview_of(collect_among_many(reader), spark=self._spark)
        record = None
        # The record decides only whether a batch that runs again is recognised.
        if place.is_beside_record and isinstance(overview.next_start, RunsAgain):
            above, _, stream = place.path.rpartition("/")
            root = SubdirReader(self._reader, above) if above else self._reader
            found = read_guard_record(root, stream, adopted_from=place.adopted_from)
            record = found if isinstance(found, GuardRecord) else None
        summary = self._summarise(settle_state(overview, record), record)
        return Found(path=name, location=location, summary=summary)

    def _named(self, place: _Place) -> tuple[str, Location]:
        """Return how a place is shown, and its location."""
        if place.adopted_from is not None:
            return str(place.adopted_from), place.adopted_from
        return place.path, self._reader.location.join(place.path)

    def _unread(self, place: _Place, why: str, *, remedy: str) -> Found[T]:
        name, location = self._named(place)
        return Found(path=name, location=location, unread=why, remedy=remedy)

    def _places(self, directory: str, listing: Listing) -> list[_Place]:
        """Return where to look on below a directory that is no checkpoint."""
        names = [name for name in listing.directories if name not in _SKIPPED]
        if not _TABLES.isdisjoint(listing.directories):
            names = [name for name in names if "=" not in name]
        has_record = HOME in listing.directories
        newest = self._newest_generations(directory, names) if has_record else {}
        places = []
        for name in names:
            stream, number = split_generation(name)
            current = newest.get(stream, number)
            replaced_by = current if number < current else None
            places.append(_Place(_join(directory, name), has_record, replaced_by))
        if has_record:
            here = {split_generation(name)[0] for name in names}
            streams = self._reader.list(_join(directory, HOME)).directories
            places += [
                _Place(_join(directory, stream), is_beside_record=True, is_missing=True)
                for stream in streams
                if stream not in here and is_stream_name(stream)
            ]
        return places

    def _newest_generations(self, directory: str, names: list[str]) -> Mapping[str, int]:
        """Return the newest generation of each stream that has more than its first."""
        split = [split_generation(name) for name in names]
        found = {}
        for stream in {stream for stream, number in split if number > 1}:
            try:
                below = f"{_join(directory, HOME)}/{stream}/"
                found[stream] = newest_generation(self._reader, below=below)
            except HoldfastError:
                continue  # then none counts as replaced, and each is judged
        return found


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
