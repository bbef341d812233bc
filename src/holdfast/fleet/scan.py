"""Scans a fleet: finds the checkpoints below any number of locations, and makes a row of each.

Directories are searched depth first by a bounded number of threads, and rows are yielded as they
are made, in no promised order: memory does not grow with the number of checkpoints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import islice
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
from holdfast.fleet.again import can_carry_over, carried_over
from holdfast.fleet.look import (
    FoundCheckpoint,
    judge_checkpoint,
    replaced_row,
    shows_checkpoint,
    unread_row,
)
from holdfast.fleet.request import FleetRequest, FleetWalk
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.shallow import ShallowReader
from holdfast.fleet.values import find_owner, judged_by, short_location
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location, parse_location
from holdfast.storage.missing import refuse_missing
from holdfast.storage.open import open_reader
from holdfast.storage.read import Listing, Reader


class FleetWork(NamedTuple):
    """A directory to look at."""

    reader: Reader
    """Of the location that is searched."""
    candidate: CheckpointCandidate
    depth: int
    is_named: bool = False
    """Whether it is known to be a checkpoint."""

    @property
    def inside(self) -> Reader:
        """Reads the directory itself."""
        path = self.candidate.path
        return SubdirReader(self.reader, path) if path else self.reader


class _Done(NamedTuple):
    row: FleetRow | None = None
    below: Sequence[FleetWork] = ()


class FleetScanner:
    """Scans the locations of one request."""

    def __init__(
        self,
        request: FleetRequest,
        *,
        named: Iterable[Location] = (),
        earlier: Mapping[str, FleetRow] | None = None,
        open_at: Callable[[str | Location], Reader] | None = None,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            request: What to scan.
            named: Checkpoints that need not be found.
            earlier: The rows of an earlier scan by location: where nothing has moved since, one
                listing is all that a checkpoint costs.
            open_at: Opens a reader of a location; by default the store that it names.

        Raises:
            LocationError: A location is not one that Holdfast can read.
        """
        self._request = request
        self._named = iter(named)
        self._earlier = earlier or {}
        self._stores: dict[Location, Reader] = {}
        self._readers: dict[str, Reader] = {}
        self._open_at = open_at or (lambda place: open_reader(place, request.options))
        self._owner = None if request.owner is None else re.compile(request.owner)
        self._starts = dict.fromkeys(str(parse_location(each)) for each in request.locations)
        self.walk = FleetWalk()

    def run(self) -> Iterator[FleetRow]:
        """Yield a row for every checkpoint, and for everything that could not be read.

        Raises:
            LocationError: A location is not one that Holdfast can read.
        """
        yield from self.run_from(self._roots())

    def reader_of(self, location: str) -> Reader:
        """Return the reader of a location that is searched; opened once."""
        if location not in self._readers:
            self._readers[location] = self._open_at(location)
        return self._readers[location]

    def _roots(self) -> list[FleetWork]:
        readers = map(self.reader_of, self._starts)
        return [FleetWork(reader, CheckpointCandidate(""), 0) for reader in readers]

    def frontier(self, enough: int) -> list[FleetWork]:
        """Search until there are enough directories to look at, or nothing is left to search.

        Args:
            enough: How many; a level of directories is searched completely.

        Raises:
            LocationError: A location is not one that Holdfast can read.
        """
        ready: list[FleetWork] = []
        level = self._roots()
        with ThreadPoolExecutor(self._request.workers) as pool:
            while level and len(level) + len(ready) < enough:
                found = list(zip(level, pool.map(self._search, level), strict=True))
                ready += [work for work, below in found if below is None]
                level = [each for _, below in found for each in self._choose(below or ())]
        return [*ready, *level]

    def _search(self, work: FleetWork) -> list[FleetWork] | None:
        """Return what is below a directory; None if it is to be looked at itself."""
        if work.candidate.is_missing:
            return None
        try:
            listing = _list(work)
            is_leaf = is_checkpoint(work.inside, listing)
            return None if is_leaf else self._below(work, listing)
        except HoldfastError:
            return None  # whoever looks at it says why

    def run_from(self, works: Iterable[FleetWork]) -> Iterator[FleetRow]:
        """Yield a row for every checkpoint from some directories on."""
        waiting = list(works)[::-1]
        ended: SimpleQueue[Future[_Done]] = SimpleQueue()
        pool = ThreadPoolExecutor(self._request.workers)
        running = 0
        most = 2 * self._request.workers
        try:
            while True:
                waiting[:0] = map(self.work_at, islice(self._named, max(most - len(waiting), 0)))
                while waiting and running < most:
                    pool.submit(self._look, waiting.pop()).add_done_callback(ended.put)
                    running += 1
                if not running:
                    return
                done = ended.get().result()
                running -= 1
                waiting.extend(self._choose(done.below))
                if done.row is not None:
                    yield done.row
                else:
                    self.walk.directories += 1
        finally:
            pool.shutdown(cancel_futures=True)

    def _look(self, work: FleetWork) -> _Done:
        found = FoundCheckpoint(
            reader=work.reader,
            candidate=work.candidate,
            owner=find_owner(self._owner, work.candidate.path or str(work.reader.location)),
        )
        try:
            if work.candidate.is_missing:
                return self._look_elsewhere(work, found)
            unchanged = self._look_again(work, found)
            if unchanged is not None:
                return unchanged
            if work.is_named:
                return self._look_at(work, found)
            listing = _list(work)
            if not is_checkpoint(work.inside, listing):
                return _Done(below=self._below(work, listing))
            return self._look_into(work, found, listing)
        except HoldfastError as error:
            return _Done(row=unread_row(found, error.why, remedy=error.how))

    def work_at(self, place: Location) -> FleetWork:
        """Return the work on a checkpoint that was named; a store is opened once."""
        root = replace(place, path="/" if place.is_local else "")
        if root not in self._stores:
            self._stores[root] = self._open_at(root)
        path = place.path.strip("/")
        # Whether Holdfast keeps a record beside it is asked where it decides.
        candidate = CheckpointCandidate(path, is_beside_record=True)
        return FleetWork(self._stores[root], candidate, 0, is_named=True)

    def _look_again(self, work: FleetWork, found: FoundCheckpoint) -> _Done | None:
        """Return the row of the earlier scan, if a listing shows that nothing has moved."""
        old = self._earlier.get(short_location(found.location))
        if old is None or work.candidate.replaced_by is not None:
            return None
        judge = judged_by(self._request.spark)
        if not can_carry_over(old, most=self._request.requests, judge=judge):
            return None
        reader = ShallowReader(work.inside, most=self._request.requests)
        reader.look()
        if reader.fingerprint != old.fingerprint:
            return None
        tops = {info.path.partition("/")[0] for info in reader.files if "/" in info.path}
        below = self._below(work, Listing(files=(), directories=tuple(sorted(tops - EXPECTED))))
        return _Done(row=carried_over(old, owner=found.owner), below=below)

    def _look_at(self, work: FleetWork, found: FoundCheckpoint) -> _Done:
        """Look at a checkpoint that was named: no listing of its directory is needed."""
        reader = ShallowReader(work.inside, most=self._request.requests)
        reader.look()
        return _Done(row=judge_checkpoint(found, reader, spark=self._request.spark))

    def _look_into(self, work: FleetWork, found: FoundCheckpoint, listing: Listing) -> _Done:
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

    def _look_elsewhere(self, work: FleetWork, found: FoundCheckpoint) -> _Done:
        """Look at a checkpoint that a stream adopted from another place."""
        there = find_adopted(work.reader, work.candidate.path)
        if there is None:
            return _Done()
        reader = ShallowReader(self._open_at(there), most=self._request.requests, spent=1)
        reader.look()
        return _Done(row=judge_checkpoint(found.at(there), reader, spark=self._request.spark))

    def _below(self, work: FleetWork, listing: Listing) -> list[FleetWork]:
        found = find_candidates(work.reader, work.candidate.path, listing)
        return [FleetWork(work.reader, each, work.depth + 1) for each in found]

    def _choose(self, found: Sequence[FleetWork]) -> Iterator[FleetWork]:
        """Leave out what is excluded or too deep, and count it; and what is a location itself."""
        for each in found:
            if self._is_searched_anyway(each):
                continue
            if self._is_excluded(each.candidate.path):
                self.walk.excluded += 1
            elif each.depth > self._request.depth:
                self.walk.too_deep += 1
                place = each.reader.location.join(each.candidate.path)
                self.walk.first_too_deep = self.walk.first_too_deep or short_location(place)
            else:
                yield each

    def _is_searched_anyway(self, work: FleetWork) -> bool:
        """Return whether a directory was named as a location too: it must not get two rows."""
        is_known = len(self._starts) > 1 and not work.candidate.is_missing
        return is_known and str(work.reader.location.join(work.candidate.path)) in self._starts

    def _is_excluded(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return any(
            fnmatchcase(path, each) or fnmatchcase(name, each) for each in self._request.exclude
        )


def _list(work: FleetWork) -> Listing:
    """List a directory.

    Raises:
        ReadError: The store did not let us list it, or a location to search is not there.
    """
    listing = work.inside.list()
    if not work.depth and not listing.files and not listing.directories:
        refuse_missing(work.reader)
    return listing
