"""Finds the checkpoints below a directory, and judges each as far as a few requests allow.

Nothing inside a checkpoint is searched: `state/` alone may have millions of objects. A checkpoint
whose generation was replaced is named and not judged. Links are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from holdfast.errors import HoldfastError
from holdfast.evidence.candidates import (
    CheckpointCandidate,
    find_adopted,
    find_candidates,
    is_checkpoint,
)
from holdfast.evidence.collect import collect_among_many
from holdfast.evidence.guard_record import (
    GuardRecord,
    read_guard_record,
    settle_state,
)
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.overview import Overview, overview_of
from holdfast.spark_versions import SparkVersion
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location
from holdfast.storage.read import Reader

T = TypeVar("T")
WORKERS = 8
MOST_DIRECTORIES = 100_000
"""So many directories are searched, and no more: a data lake has millions."""


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


class _Looked(NamedTuple, Generic[T]):
    found: Found[T] | None
    below: list[CheckpointCandidate]


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
        waiting = find_candidates(self._reader, "", self._reader.list())
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

    def _look(self, place: CheckpointCandidate) -> _Looked[T]:
        try:
            if place.is_missing:
                return _Looked(self._look_elsewhere(place), [])
            listing = self._reader.list(place.path)
            if not is_checkpoint(self._reader, listing, place.path):
                return _Looked(None, find_candidates(self._reader, place.path, listing))
            return _Looked(self._judge(place, SubdirReader(self._reader, place.path)), [])
        except HoldfastError as error:
            return _Looked(self._unread(place, error.why, remedy=error.how), [])

    def _look_elsewhere(self, place: CheckpointCandidate) -> Found[T] | None:
        """Judge a checkpoint that a stream adopted; None if it did not, or the search finds it."""
        there = find_adopted(self._reader, place.path)
        if there is None:
            return None
        return self._judge(place._replace(adopted_from=there), self._open_at(there))

    def _judge(self, place: CheckpointCandidate, reader: Reader) -> Found[T]:
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

    def _named(self, place: CheckpointCandidate) -> tuple[str, Location]:
        """Return how a place is shown, and its location."""
        if place.adopted_from is not None:
            return str(place.adopted_from), place.adopted_from
        return place.path, self._reader.location.join(place.path)

    def _unread(self, place: CheckpointCandidate, why: str, *, remedy: str) -> Found[T]:
        name, location = self._named(place)
        return Found(path=name, location=location, unread=why, remedy=remedy)
