"""Scans a fleet: finds the checkpoints below any number of locations, and makes a row of each.

Directories are searched depth first by a bounded number of threads, and rows are yielded as they
are made, in no promised order: memory does not grow with the number of checkpoints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from queue import SimpleQueue
from typing import NamedTuple

from holdfast.checkpoint.read import EXPECTED
from holdfast.errors import HoldfastError
from holdfast.evidence.candidates import (
    CheckpointCandidate,
    find_adopted,
    find_candidates,
    is_checkpoint,
)
from holdfast.fleet.look import (
    FoundCheckpoint,
    judge_checkpoint,
    replaced_row,
    short,
    shows_checkpoint,
    unread_row,
)
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.shallow import MOST_REQUESTS, ShallowReader
from holdfast.spark_versions import SparkVersion
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Listing, Reader

WORKERS = 32
"""Checkpoints that are read at the same time."""
DEPTH = 8
"""Directories below a location that are searched, one inside the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRequest:
    """What to scan, and how."""

    locations: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the stores, as `--storage-option` gives them."""
    depth: int = DEPTH
    exclude: tuple[str, ...] = ()
    """Glob patterns of paths or names that are not searched."""
    owner: str | None = None
    """A regular expression; its first group, or all of what it matches, is the owner."""
    spark: SparkVersion | None = None
    """The version that will be started; by default the newest that can have written each."""
    requests: int = MOST_REQUESTS
    """The most that one checkpoint may cost."""
    workers: int = WORKERS


@dataclass(slots=True)
class FleetWalk:
    """What a scan did beside its rows; complete when the scan has ended."""

    directories: int = 0
    """Those that were searched and are no checkpoints."""
    excluded: int = 0
    too_deep: int = 0
    """Directories that were not searched because of the depth limit."""
    first_too_deep: str | None = None


class _Work(NamedTuple):
    reader: Reader
    candidate: CheckpointCandidate
    depth: int

    @property
    def inside(self) -> Reader:
        """Reads the directory itself."""
        path = self.candidate.path
        return SubdirReader(self.reader, path) if path else self.reader


class _Done(NamedTuple):
    row: FleetRow | None = None
    below: Sequence[_Work] = ()


class FleetScanner:
    """Scans the locations of one request."""

    def __init__(
        self, request: FleetRequest, *, open_at: Callable[[str | Location], Reader] | None = None
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            request: What to scan.
            open_at: Opens a reader of a location; by default the store that it names.
        """
        self._request = request
        self._open_at = open_at or (lambda place: open_reader(place, request.options))
        self._owner = None if request.owner is None else re.compile(request.owner)
        self.walk = FleetWalk()

    def run(self) -> Iterator[FleetRow]:
        """Yield a row for every checkpoint, and for everything that could not be read.

        Raises:
            LocationError: A location is not one that Holdfast can read.
        """
        readers = [self._open_at(each) for each in self._request.locations]
        waiting = [_Work(reader, CheckpointCandidate(""), 0) for reader in reversed(readers)]
        ended: SimpleQueue[Future[_Done]] = SimpleQueue()
        pool = ThreadPoolExecutor(self._request.workers)
        running = 0
        try:
            while waiting or running:
                while waiting and running < 2 * self._request.workers:
                    pool.submit(self._look, waiting.pop()).add_done_callback(ended.put)
                    running += 1
                done = ended.get().result()
                running -= 1
                waiting.extend(self._choose(done.below))
                if done.row is not None:
                    yield done.row
                else:
                    self.walk.directories += 1
        finally:
            pool.shutdown(cancel_futures=True)

    def _look(self, work: _Work) -> _Done:
        found = FoundCheckpoint(
            reader=work.reader, candidate=work.candidate, owner=self._owner_of(work)
        )
        try:
            if work.candidate.is_missing:
                return self._look_elsewhere(work, found)
            listing = work.inside.list()
            if not is_checkpoint(work.inside, listing):
                return _Done(below=self._below(work, listing))
            return self._look_into(work, found, listing)
        except HoldfastError as error:
            return _Done(row=unread_row(found, error.why, remedy=error.how))

    def _look_into(self, work: _Work, found: FoundCheckpoint, listing: Listing) -> _Done:
        """Look into a directory that has the names of a checkpoint."""
        if work.candidate.replaced_by is not None:
            return _Done(row=replaced_row(found, work.candidate.replaced_by))
        reader = ShallowReader(work.inside, root=listing, most=self._request.requests, spent=1)
        reader.look()
        if not shows_checkpoint(reader.files):
            return _Done(below=self._below(work, listing))
        row = judge_checkpoint(found, reader, spark=self._request.spark)
        others = tuple(name for name in listing.directories if name not in EXPECTED)
        if not others:
            return _Done(row=row)
        # Another checkpoint may be inside this one.
        return _Done(row=row, below=self._below(work, Listing(files=(), directories=others)))

    def _look_elsewhere(self, work: _Work, found: FoundCheckpoint) -> _Done:
        """Look at a checkpoint that a stream adopted from another place."""
        there = find_adopted(work.reader, work.candidate.path)
        if there is None:
            return _Done()
        reader = ShallowReader(self._open_at(there), most=self._request.requests, spent=1)
        reader.look()
        return _Done(row=judge_checkpoint(found.at(there), reader, spark=self._request.spark))

    def _below(self, work: _Work, listing: Listing) -> list[_Work]:
        found = find_candidates(work.reader, work.candidate.path, listing)
        return [_Work(work.reader, each, work.depth + 1) for each in found]

    def _choose(self, found: Sequence[_Work]) -> Iterator[_Work]:
        """Leave out what is excluded or too deep, and count it."""
        for each in found:
            if self._is_excluded(each.candidate.path):
                self.walk.excluded += 1
            elif each.depth > self._request.depth:
                self.walk.too_deep += 1
                place = each.reader.location.join(each.candidate.path)
                self.walk.first_too_deep = self.walk.first_too_deep or short(str(place))
            else:
                yield each

    def _is_excluded(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return any(
            fnmatchcase(path, each) or fnmatchcase(name, each) for each in self._request.exclude
        )

    def _owner_of(self, work: _Work) -> str | None:
        """Return who owns a checkpoint, by its path; None if the pattern does not match."""
        path = work.candidate.path or str(work.reader.location)
        matched = None if self._owner is None else self._owner.search(path)
        if matched is None:
            return None
        return short(matched[1] or "" if matched.re.groups else matched[0]) or None
