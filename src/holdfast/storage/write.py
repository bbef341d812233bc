"""Changing bytes at a location: a type of its own, which few packages may import.

`put_if_absent` is the one step everything of ours is built on: it either creates the whole file or
tells that somebody else has. Only stores that can do that are writers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from holdfast.confinement import refuse_outside
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import load
from holdfast.storage.read import Reader


class Writer(Reader, Protocol):
    """Reads and changes below one location; every change is whole or did not happen."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there.

        The one that is there can be our own, made by a request whose answer was lost and which was
        sent again: whoever must know reads it and compares.

        Raises:
            WriteError: The store did not answer so; whether the file was made is then not known.
        """

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file.

        Raises:
            WriteError: The store did not take it.
        """

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error.

        Raises:
            WriteError: The store did not delete it.
        """

    def remove_empty_directories(self) -> None:
        """Remove the directories below the location that hold no file, also not further down.

        A store without directories has none. Nobody else may write there meanwhile.

        Raises:
            WriteError: The store did not remove one.
        """

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path below the same location, replacing what is there.

        Raises:
            WriteError: The store did not copy it, or there is no such source.
        """

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file of another reader to a path here, replacing what is there.

        The store copies it itself where both are in one store. Otherwise the file is read and
        written in pieces, so that its size does not matter.

        Args:
            source: Where the file is read.
            path: The file, below the source's location.
            to: The copy, below this location.

        Raises:
            ReadError: The source did not let us read it.
            WriteError: The store did not take it, or there is no such file.
        """


def open_writer(location: str | Location, options: Mapping[str, str] | None = None) -> Writer:
    """Return a writer of a directory on disk or in a bucket; nothing is changed yet.

    Raises:
        LocationError: The location is not one Holdfast can write.
    """
    place = parse_location(location) if isinstance(location, str) else location
    refuse_outside(place)
    opened: Writer = load(place.kind.writer)(place, options)
    return opened
