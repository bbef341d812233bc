"""A reader that asks a store for the same bytes once, while one piece of evidence is collected."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, Listing, Page, Reader, WalkPage

MOST_BYTES = 1 << 20
"""Larger files are read again."""


class CachingReader:
    """Reads as the reader it wraps does. What is not there is asked for again: it may come."""

    def __init__(self, reader: Reader) -> None:
        """Wrap a reader."""
        self._reader = reader
        self._read: dict[tuple[str, int, int | None], bytes] = {}

    @property
    def location(self) -> Location:
        """Where it reads."""
        return self._reader.location

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory."""
        return self._reader.list(directory)

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        return self._reader.walk(directory)

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory."""
        return self._reader.list_after(directory, after)

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        return self._reader.walk_page(directory, after=after)

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        return self._reader.stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        key = (path, start, length)
        if key not in self._read:
            found = self._reader.read(path, start=start, length=length)
            if found is None or len(found) > MOST_BYTES:
                return found
            self._read[key] = found
        return self._read[key]
