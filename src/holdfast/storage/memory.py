"""A store in memory, for tests and examples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import NoReturn

from holdfast.errors import LocationError, WriteError
from holdfast.storage.location import Location
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page, Reader, WalkPage, cut_page

_EPOCH = datetime.fromtimestamp(0, tz=UTC)


class MemoryStorage:
    """A dictionary that reads and writes like a store; all its files are of 1970."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.location = Location(scheme="memory", bucket="memory")
        self.files = dict(files or {})

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory."""
        prefix = f"{directory}/" if directory else ""
        inside = sorted(path for path in self.files if path.startswith(prefix))
        names = [path.removeprefix(prefix) for path in inside]
        return Listing(
            files=tuple(self._info(prefix + name) for name in names if "/" not in name),
            directories=tuple(sorted({name.split("/")[0] for name in names if "/" in name})),
        )

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        prefix = f"{directory}/" if directory else ""
        inside = (path.removeprefix(prefix) for path in self.files if path.startswith(prefix))
        entries = {name[: name.find("/") + 1] or name for name in inside}
        names, next_after = cut_page(entries, after)
        return Page(
            files=tuple(self._info(prefix + name) for name in names if name[-1] != "/"),
            directories=tuple(name[:-1] for name in names if name[-1] == "/"),
            next_after=next_after,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        prefix = f"{directory}/" if directory else ""
        for path in list(self.files):
            if path.startswith(prefix):
                yield self._info(path)

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        inside = sorted(info.path for info in self.walk(directory) if info.path > after)
        return WalkPage(
            files=tuple(map(self._info, inside[:PAGE_ENTRIES])), is_last=len(inside) < PAGE_ENTRIES
        )

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        return self._info(path) if path in self.files else None

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        data = self.files.get(path)
        if data is None:
            return None
        return data[start:] if length is None else data[start : start + length]

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        if path in self.files:
            return False
        self.files[path] = data
        return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        self.files[path] = data

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        self.files.pop(path, None)

    def remove_empty_directories(self) -> None:
        """Remove nothing: there are no directories."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path."""
        self.copy_from(self, source, to=target)

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file of another reader to a path here."""
        data = source.read(path)
        if data is None:
            raise WriteError(to, why=f"There is no {path} to copy.", how="List it first.")
        self.files[to] = data

    def _info(self, path: str) -> FileInfo:
        data = self.files[path]
        etag = hashlib.sha256(data).hexdigest()
        return FileInfo(path=path, size_bytes=len(data), modified=_EPOCH, etag=etag)


def refuse_opening(place: Location, options: Mapping[str, str] | None) -> NoReturn:
    """Refuse what only the process that made it has.

    Raises:
        LocationError: Always.
    """
    del options
    raise LocationError(str(place), why="What is in memory has no location to open it by.")
