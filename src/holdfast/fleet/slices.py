"""Cuts a search into slices that many tasks can finish: only strings cross.

The driver searches until there are enough directories. A task searches on below those of its
slice. A checkpoint gets the same row whichever way it was found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import msgspec

from holdfast.evidence.candidates import CheckpointCandidate
from holdfast.fleet.request import FleetRequest
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.scan import FleetScanner, FleetWork
from holdfast.storage.location import Location, parse_location

PER_SLICE = 4
"""Directories that the driver finds for each slice, so that large ones even out."""


class SlicePlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A directory that a task searches on from."""

    location: str
    """Of the search: what rows name their paths from."""
    path: str
    depth: int
    is_beside_record: bool = False
    replaced_by: int | None = None
    is_missing: bool = False
    is_named: bool = False
    """Whether it is known to be a checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSlices:
    """Where the tasks begin, and the rows of what the driver could not search."""

    places: tuple[str, ...]
    """Each a `SlicePlace` as JSON in ASCII: a name on disk need not be UTF-8."""
    request: FleetRequest
    """Of every task; its locations are complete."""

    def cut(self, number: int) -> list[tuple[str, ...]]:
        """Return the places as so many slices, or fewer; neighbours go to different slices."""
        cut = (self.places[each::number] for each in range(number))
        return [each for each in cut if each]


def slice_search(
    request: FleetRequest, *, slices: int, named: Iterable[Location] = ()
) -> FleetSlices:
    """Search until there is enough for so many slices.

    Args:
        request: What to search.
        slices: How many tasks there will be.
        named: Checkpoints that need not be found.

    Raises:
        LocationError: A location is not one that Holdfast can read.
    """
    starts = tuple(str(parse_location(each)) for each in request.locations)
    request = replace(request, locations=starts)
    scanner = FleetScanner(request)
    works = chain(scanner.frontier(slices * PER_SLICE), map(scanner.work_at, named))
    places = tuple(json.dumps(msgspec.to_builtins(_place(each))) for each in works)
    return FleetSlices(places=places, request=request)


def scan_places(request: FleetRequest, places: Iterable[str]) -> Iterator[FleetRow]:
    """Yield the rows below the places of one slice: what a task does.

    Args:
        request: How to scan.
        places: As `FleetSlices` has them.
    """
    known = [msgspec.convert(json.loads(each), SlicePlace) for each in places]
    scanner = FleetScanner(request)
    yield from scanner.run_from([_work(scanner, each) for each in known])


def _place(work: FleetWork) -> SlicePlace:
    candidate = work.candidate
    return SlicePlace(
        location=str(work.reader.location),
        path=candidate.path,
        depth=work.depth,
        is_beside_record=candidate.is_beside_record,
        replaced_by=candidate.replaced_by,
        is_missing=candidate.is_missing,
        is_named=work.is_named,
    )


def _work(scanner: FleetScanner, place: SlicePlace) -> FleetWork:
    candidate = CheckpointCandidate(
        place.path,
        is_beside_record=place.is_beside_record,
        replaced_by=place.replaced_by,
        is_missing=place.is_missing,
    )
    reader = scanner.reader_of(place.location)
    return FleetWork(reader, candidate, place.depth, is_named=place.is_named)
