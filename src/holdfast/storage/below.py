"""A reader of a directory below another reader's location, through the same connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, Listing, Page, Reader, WalkPage


class SubdirReader:
    """Reads as the reader it wraps does; its paths begin at a directory below."""

    def __init__(self, reader: Reader, directory: str) -> None:
        """Wrap a reader."""
        self._reader = reader
        self._directory = directory

    @property
    def location(self) -> Location:
        """Where it reads."""
        return self._reader.location.join(self._directory)

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory."""
        listing = self._reader.list(self._full(directory))
        return replace(listing, files=self._all_own(listing.files))

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        page = self._reader.list_after(self._full(directory), after)
        return replace(page, files=self._all_own(page.files))

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        return map(self._own, self._reader.walk(self._full(directory)))

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        after = self._full(after) if after else ""
        page = self._reader.walk_page(self._full(directory), after=after)
        return replace(page, files=self._all_own(page.files))

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        found = self._reader.stat(self._full(path))
        return None if found is None else self._own(found)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        return self._reader.read(self._full(path), start=start, length=length)

    @property
    def wrapped(self) -> tuple[Reader, str]:
        """The reader that it wraps, and the directory below that reader's location."""
        return self._reader, self._directory

    def _full(self, path: str) -> str:
        return f"{self._directory}/{path}" if path else self._directory

    def _own(self, info: FileInfo) -> FileInfo:
        return FileInfo(
            path=info.path.removeprefix(f"{self._directory}/"),
            size_bytes=info.size_bytes,
            modified=info.modified,
            etag=info.etag,
        )

    def _all_own(self, files: tuple[FileInfo, ...]) -> tuple[FileInfo, ...]:
        return tuple(map(self._own, files))


def reader_of_file(reader: Reader, path: str) -> tuple[Reader, str]:
    """Return the reader that is wrapped, and the path it knows a file by: a store knows its own."""
    while isinstance(reader, SubdirReader):
        reader, directory = reader.wrapped
        path = f"{directory}/{path}"
    return reader, path
