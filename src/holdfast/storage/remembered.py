"""A reader that asks a store for the same bytes once, while one piece of evidence is collected.

A later look may take what an earlier one has read, of files that the store still lists with the
same content.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, Listing, Page, Reader, WalkPage

MOST_BYTES = 1 << 20
"""Larger files are read again."""


class SeenFiles:
    """What was read of files, by what the store called their content when it listed them."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._seen: dict[tuple[str, str], bytes] = {}

    def keep(self, info: FileInfo, data: bytes) -> None:
        """Keep what was read of a file after it was listed."""
        if info.etag is not None:
            self._seen[info.path, info.etag] = data

    def find(self, info: FileInfo) -> bytes | None:
        """Return what was read of a file that is listed with the same content."""
        return None if info.etag is None else self._seen.get((info.path, info.etag))


class CachingReader:
    """Reads as the reader it wraps does. What is not there is asked for again: it may come."""

    def __init__(self, reader: Reader, seen: SeenFiles | None = None) -> None:
        """Wrap a reader.

        Args:
            reader: What is asked.
            seen: What earlier looks have read.
        """
        self._reader = reader
        self._seen = SeenFiles() if seen is None else seen
        self._listed: dict[str, FileInfo] = {}
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
        page = self._reader.walk_page(directory, after=after)
        for each in page.files:
            self._listed[each.path] = each
        return page

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        return self._reader.stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        listed = self._listed.get(path)
        known = None if listed is None else self._seen.find(listed)
        if known is not None:
            return known[start:] if length is None else known[start : start + length]
        key = (path, start, length)
        if key not in self._read:
            found = self._reader.read(path, start=start, length=length)
            if found is None or len(found) > MOST_BYTES:
                return found
            self._read[key] = found
            if listed is not None and (start, len(found)) == (0, listed.size_bytes):
                self._seen.keep(listed, found)
        return self._read[key]
