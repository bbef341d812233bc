"""A writer that keeps every change in memory and reads everything else from another reader.

A rehearsal runs on it: the steps read their own changes, and nothing below is changed.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from heapq import merge
from operator import attrgetter
from typing import Literal

import msgspec
from msgspec.structs import replace

from holdfast.clock import now
from holdfast.errors import WriteError
from holdfast.storage.location import Location
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page, Reader, WalkPage, cut_page


class OverlayChange(msgspec.Struct, frozen=True, kw_only=True):
    """One file that is not as it was before the rehearsal."""

    path: str
    kind: Literal["created", "replaced", "deleted"]
    bytes_before: int | None
    """Its size below; None if it was created."""
    bytes_after: int | None
    """Its size in the rehearsal; None if it was deleted."""


class _Elsewhere(msgspec.Struct, frozen=True):
    """A file that another reader reads."""

    reader: Reader
    path: str


class _Held(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the overlay: its bytes, or the file elsewhere that it is a copy of."""

    info: FileInfo
    content: bytes | _Elsewhere


class OverlayWriter:
    """Reads and changes like a store; every change is in memory only.

    A directory is listed while a file is in it. A directory that is empty below is listed as the
    store below lists it. A copied file is not read: it refers to the file below.
    """

    def __init__(self, below: Reader) -> None:
        """Begin without changes."""
        self._below = below
        self._over: dict[str, _Held | None] = {}
        self._lock = threading.Lock()

    @property
    def location(self) -> Location:
        """Where it reads."""
        return self._below.location

    def changes(self) -> tuple[OverlayChange, ...]:
        """Return how the files differ from those below, sorted by path.

        A file that was put with the bytes it has below has not changed.

        Raises:
            ReadError: The store below did not let us compare.
        """
        found = (self._change(path, held) for path, held in self._inside("").items())
        return tuple(sorted((each for each in found if each), key=attrgetter("path")))

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory; an empty listing when it is not there."""
        files, directories = self._merge(directory, self._below.list(directory))
        return Listing(
            files=tuple(files[name] for name in sorted(files)),
            directories=tuple(sorted(directories)),
        )

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        below = self._below.list_after(directory, after)
        files, directories = self._merge(directory, below)
        names = {*files, *(f"{name}/" for name in directories)}
        # The page below says nothing of what comes after its end.
        end = below.next_after
        page, next_after = cut_page((each for each in names if end is None or each <= end), after)
        return Page(
            files=tuple(files[name] for name in page if name[-1] != "/"),
            directories=tuple(name[:-1] for name in page if name[-1] == "/"),
            next_after=next_after or end,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory; in order, if the store below walks in order."""
        over = self._inside(directory)
        held = (over[path] for path in sorted(over))
        own = (each.info for each in held if each is not None)
        below = (info for info in self._below.walk(directory) if info.path not in over)
        return merge(below, own, key=attrgetter("path"))

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        over = self._inside(directory)
        files: list[FileInfo] = []
        reached = after
        while True:
            page = self._below.walk_page(directory, after=reached)
            files += (info for info in page.files if info.path not in over)
            is_last = page.is_last or not page.files
            if is_last or len(files) >= PAGE_ENTRIES:
                break
            reached = page.files[-1].path
        end = None if is_last else page.files[-1].path
        files += (
            held.info
            for path, held in over.items()
            if held is not None and path > after and (end is None or path <= end)
        )
        files.sort(key=attrgetter("path"))
        return WalkPage(
            files=tuple(files[:PAGE_ENTRIES]), is_last=is_last and len(files) <= PAGE_ENTRIES
        )

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        held = self.find(path)
        return None if held is None else held.info

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        if path not in self._over:
            return self._below.read(path, start=start, length=length)
        held = self._over[path]
        if held is None:
            return None
        if isinstance(held.content, _Elsewhere):
            return held.content.reader.read(held.content.path, start=start, length=length)
        return held.content[start:] if length is None else held.content[start : start + length]

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        is_below = self._below.stat(path) is not None
        with self._lock:
            if self._over[path] is not None if path in self._over else is_below:
                return False
            self._over[path] = _hold(path, data)
        return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        with self._lock:
            self._over[path] = _hold(path, data)

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        with self._lock:
            self._over[path] = None

    def remove_empty_directories(self) -> None:
        """Remove nothing: a directory that gets empty here is not listed."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path; one that is below is not read."""
        self.copy_from(self, source, to=target)

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file of another reader; it is read there when the copy is read."""
        found = source.find(path) if isinstance(source, OverlayWriter) else _look(source, path)
        if found is None:
            where = str(self.location.join(to))
            raise WriteError(where, why=f"There is no {path} to copy.", how="List it first.")
        info = replace(found.info, path=to, modified=now())
        with self._lock:
            self._over[to] = replace(found, info=info)

    def find(self, path: str) -> _Held | None:
        """Return a file with its content, or where that is; None when there is no file."""
        with self._lock:
            if path in self._over:
                return self._over[path]
        return _look(self._below, path)

    def _inside(self, directory: str) -> dict[str, _Held | None]:
        """Return what was changed below a directory, as it is now."""
        prefix = f"{directory}/" if directory else ""
        with self._lock:
            return {path: held for path, held in self._over.items() if path.startswith(prefix)}

    def _merge(self, directory: str, below: Listing) -> tuple[dict[str, FileInfo], set[str]]:
        """Return the files of a directory by name, and the names of the directories in it."""
        prefix = f"{directory}/" if directory else ""
        over = self._inside(directory)
        files = {each.path.removeprefix(prefix): each for each in below.files}
        directories: set[str] = set()
        for path, held in over.items():
            name, slash, _ = path.removeprefix(prefix).partition("/")
            if slash and held is not None:
                directories.add(name)
            elif not slash and held is not None:
                files[name] = held.info
            elif not slash:
                files.pop(name, None)
        listed = set(below.directories) - directories
        return files, directories | {
            name for name in listed if self._has_files(prefix + name, over)
        }

    def _has_files(self, directory: str, over: Mapping[str, _Held | None]) -> bool:
        """Return whether a directory below is still listed; no file of the overlay is in it."""
        if not any(path.startswith(f"{directory}/") for path in over):
            return True
        return any(info.path not in over for info in self._below.walk(directory))

    def _change(self, path: str, held: _Held | None) -> OverlayChange | None:
        before = self._below.stat(path)
        was = None if before is None else before.size_bytes
        if held is None:
            if before is None:
                return None
            return OverlayChange(path=path, kind="deleted", bytes_before=was, bytes_after=None)
        size = held.info.size_bytes
        if before is None:
            return OverlayChange(path=path, kind="created", bytes_before=None, bytes_after=size)
        is_same = held.content == _Elsewhere(self._below, path) or (
            was == size
            and isinstance(held.content, bytes)
            and self._below.read(path) == held.content
        )
        if is_same:
            return None
        return OverlayChange(path=path, kind="replaced", bytes_before=was, bytes_after=size)


def _look(reader: Reader, path: str) -> _Held | None:
    info = reader.stat(path)
    return None if info is None else _Held(info=info, content=_Elsewhere(reader, path))


def _hold(path: str, data: bytes) -> _Held:
    etag = hashlib.sha256(data).hexdigest()
    info = FileInfo(path=path, size_bytes=len(data), modified=now(), etag=etag)
    return _Held(info=info, content=data)
