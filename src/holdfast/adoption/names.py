"""The stream's name and the root that an adoption suggests, and who has them already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from holdfast.adoption.model import Suggested
from holdfast.errors import HoldfastError
from holdfast.record.generations import current_generation
from holdfast.record.layout import (
    HOME,
    changing_name,
    changing_part,
    check_stream_name,
    is_stream_name,
    is_temporary,
)
from holdfast.record.neighbours import find_conflict
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location, parse_location, spark_location
from holdfast.storage.open import open_reader

_NOT_A_NAME = frozenset({"checkpoint", "checkpoints", "cp", "main", "query", "stream"})
"""What says nothing of a stream."""
_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST = 63
_OF_A_TABLE = ("_delta_log", "_spark_metadata", "metadata")
"""Directories that show that a table is here: a record does not belong beside its files."""


def suggest_stream(
    given: str | None, known: Mapping[str, str | None], checkpoint: Location
) -> Suggested | None:
    """Return the name of the stream; None if nothing suggests one.

    Args:
        given: As somebody has chosen it.
        known: What the query is called, by where that was read.
        checkpoint: Of the stream; its directories have names.

    Raises:
        ConfigError: What was chosen is not a name.
    """
    if given is not None:
        check_stream_name(given)
        return Suggested(value=given, where="--stream")
    directories = (
        (each, "the name of a directory of the checkpoint") for each in _names(checkpoint)
    )
    for name, where in (*((name, where) for where, name in known.items()), *directories):
        found = _OTHER.sub("-", (name or "").lower()).strip("-")[:_LONGEST].strip("-")
        is_name = is_stream_name(found) and changing_name(found) is None
        if is_name and found not in _NOT_A_NAME:
            return Suggested(value=found, where=f"{where}; --stream NAME for another one")
    return None


def _names(checkpoint: Location) -> Iterator[str]:
    place: Location | None = checkpoint
    while place is not None and place.path.strip("/"):
        yield place.name
        place = place.parent


def suggest_root(
    given: str | None, checkpoint: Location, options: Mapping[str, str]
) -> Suggested | None:
    """Return where the record would be; None if no directory above the checkpoint fits.

    Args:
        given: As somebody has chosen it.
        checkpoint: Of the stream.
        options: Of the store.

    Raises:
        LocationError: What was chosen is not a location.
    """
    if given is not None:
        return Suggested(value=spark_location(parse_location(given)), where="--root")
    place = checkpoint.parent
    while place is not None and not _is_fit(place, options):
        place = place.parent
    if place is None:
        return None
    where = "a directory above the checkpoint; --root LOCATION for another one"
    return Suggested(value=spark_location(place), where=where)


def _is_fit(place: Location, options: Mapping[str, str]) -> bool:
    """Return whether a record can be below a directory: not among the files of a table."""
    if place.name.startswith(("_", ".")) or not place.path.strip("/"):
        return False
    try:
        there = open_reader(place, options).list().directories
    except HoldfastError:
        return True
    return not any(each in there for each in _OF_A_TABLE)


def find_doubts(root: Location) -> str | None:
    """Return why a root is not one for good; None if nothing speaks against it."""
    if is_temporary(root):
        return "It is a temporary directory; a reboot may delete it"
    part = changing_part(root)
    return None if part is None else f"It holds {part}: use one root for good"


def find_taken(
    root: str, stream: str, *, own: tuple[Location, str], options: Mapping[str, str]
) -> str | None:
    """Return why a stream of this name cannot have the checkpoint; None if it can.

    Args:
        root: Where its record would be.
        stream: Its name.
        own: The checkpoint, and the query id in it.
        options: Of the store.

    Raises:
        ReadError: The record below the root cannot be read.
        RecordError: It cannot be used.
    """
    checkpoint, query_id = own
    reader = open_reader(root, options)
    known = current_generation(SubdirReader(reader, f"{HOME}/{stream}"))
    if known is not None and parse_location(known.checkpoint) == checkpoint:
        return f"{stream} is guarded already: {root} has its record"
    if known is not None:
        return f"{root} has a stream {stream}, which runs on {known.checkpoint}"
    found = find_conflict(reader, stream, checkpoint, query_id=query_id)
    return None if found is None else f"the stream {found.stream}: {found.why}"
