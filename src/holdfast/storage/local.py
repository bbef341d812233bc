"""Reading this machine's disk.

A path that leads outside the location, by `..` or by a link, is refused: a checkpoint is somebody
else's data.
"""

from __future__ import annotations

import errno
import heapq
import os
import posixpath
import stat
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path

from holdfast.errors import ReadError, UnsafePathError
from holdfast.printable import printable
from holdfast.storage.location import Location, is_same_store
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page, WalkPage, cut_page, moment


class LocalReader:
    """Reads below a directory."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self._root = Path(location.path)
        self._real_root = os.path.realpath(self._root)

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory; an empty listing when it is not there."""
        files, directories = [], []
        for entry in self._scan(directory, self.inside(directory)):
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.name)
            elif (info := self._info(entry, directory)) is not None:
                files.append(info)
        files.sort(key=lambda info: info.path)
        return Listing(files=tuple(files), directories=tuple(sorted(directories)))

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        entries = {
            f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name: entry
            for entry in self._scan(directory, self.inside(directory))
        }
        names, next_after = cut_page(entries, after)
        files = (self._info(entries[name], directory) for name in names if name[-1] != "/")
        return Page(
            files=tuple(info for info in files if info is not None),
            directories=tuple(name[:-1] for name in names if name[-1] == "/"),
            next_after=next_after,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory; links to directories are not followed."""
        for path, entry in self._entries(directory):
            if (info := self._info(entry, posixpath.dirname(path))) is not None:
                yield info

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        names = (each for each in self._entries(directory) if each[0] > after)
        first = heapq.nsmallest(PAGE_ENTRIES, names, key=itemgetter(0))
        found = [self._info(entry, posixpath.dirname(path)) for path, entry in first]
        files = tuple(info for info in found if info is not None)
        return WalkPage(files=files, is_last=len(first) < PAGE_ENTRIES)

    def _entries(self, directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield what is below a directory and is none itself, with its path."""
        # What is below a directory inside, and no link, is inside too; asking would add up.
        waiting = [(directory, self.inside(directory))]
        while waiting:
            here, full = waiting.pop()
            for entry in self._scan(here, full):
                path = _join(here, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((path, full / entry.name))
                else:
                    yield path, entry

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        full = self.inside(path)
        try:
            found = full.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(path, error) from error
        return _describe(path, found) if full.is_file() else None

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        full = self.inside(path)
        try:
            # A pipe would keep us waiting, a device would never end.
            if not stat.S_ISREG(full.stat().st_mode) and not full.is_dir():
                raise UnsafePathError(
                    str(self.location.join(path)),
                    why="It is a pipe, a socket or a device, and not a file.",
                    how="Remove it, if you know who made it.",
                )
            with full.open("rb") as file:
                file.seek(start)
                if length is None:
                    return file.read()
                # Python makes room for all that is asked for, also when the file is small.
                left = max(os.fstat(file.fileno()).st_size - start, 0)
                return file.read(min(length, left))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise self._unreadable(path, error) from error

    def _scan(self, directory: str, full: Path) -> Sequence[os.DirEntry[str]]:
        try:
            with os.scandir(full) as entries:
                return [*entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._unreadable(directory, error) from error

    def _info(self, entry: os.DirEntry[str], directory: str) -> FileInfo | None:
        path = _join(directory, entry.name)
        try:
            # Of a link, the link itself: what it points to may be outside, or gone.
            return _describe(path, entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            return None  # deleted since the directory was read; a running query purges entries
        except OSError as error:
            raise self._unreadable(path, error) from error

    def inside(self, path: str) -> Path:
        """Return the full path of something below the location.

        Raises:
            UnsafePathError: It leads outside.
        """
        full = self._root / path
        if self._is_plain(path):
            return full
        real = os.path.realpath(full)
        if real != self._real_root and not real.startswith(self._real_root.rstrip("/") + "/"):
            raise UnsafePathError(
                str(self.location.join(path)),
                why=f"It leads outside {self.location}, to {printable(real)}.",
                how="Look at that place itself, if you trust whoever made the link.",
            )
        return full

    def _is_plain(self, path: str) -> bool:
        """Return whether nothing below the location on the way to a path is a link, or leads up."""
        at = self.location.path
        parts = path.split("/") if path else []
        if not {"", ".", ".."}.isdisjoint(parts):
            return False
        for part in parts:
            at = f"{at}/{part}"
            try:
                if stat.S_ISLNK(os.lstat(at).st_mode):
                    return False
            except (FileNotFoundError, NotADirectoryError):
                return True  # nothing comes after it
            except (OSError, ValueError):
                return False
        return True

    def entry(self, path: str) -> Path:
        """Return the full path of an entry itself, also when it is a link that leads outside.

        Raises:
            UnsafePathError: Its directory leads outside.
        """
        directory, name = posixpath.split(path)
        return self.inside(path) if name in ("", ".", "..") else self.inside(directory) / name

    def _unreadable(self, path: str, error: OSError) -> ReadError:
        kind = UnsafePathError if error.errno == errno.ELOOP else ReadError
        return kind(
            str(self.location.join(path)),
            why=f"The system answered: {error.strerror}.",
            how="Run as an account that may read it.",
        )


def is_same_place(one: Location, other: Location) -> bool:
    """Return whether two locations are one directory; on disk, links are followed."""
    if one.is_local and other.is_local:
        return os.path.realpath(one.path) == os.path.realpath(other.path)
    return one.path == other.path and is_same_store(one, other)


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _describe(path: str, found: os.stat_result) -> FileInfo:
    etag = f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"
    return FileInfo(path=path, size_bytes=found.st_size, modified=moment(found.st_mtime), etag=etag)


def open_local_reader(place: Location, options: Mapping[str, str] | None) -> LocalReader:
    """Return a reader of a directory on disk."""
    del options
    return LocalReader(place)
