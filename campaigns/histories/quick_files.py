"""A directory in memory, read and written with few calls: no links to look for, nothing to sync.

The shipped store is made for disks that lose power and directories that hold links; neither is
played here, and looking for them takes half of a history's time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from holdfast.errors import WriteError
from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, Listing, Reader, moment
from holdfast.storage.write_local import LocalWriter


class QuickFiles(LocalWriter):
    """Reads and changes below a directory in memory."""

    def __init__(self, location: Location) -> None:
        """Read nothing yet."""
        super().__init__(location)
        self._home = location.path

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory."""
        files: list[FileInfo] = []
        directories: list[str] = []
        for entry in self._entries_in(directory):
            if entry.is_dir():
                directories.append(entry.name)
            else:
                files.append(_describe(_join(directory, entry.name), entry.stat()))
        files.sort(key=lambda info: info.path)
        return Listing(files=tuple(files), directories=tuple(sorted(directories)))

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        for entry in self._entries_in(directory):
            path = _join(directory, entry.name)
            if entry.is_dir():
                yield from self.walk(path)
            else:
                yield _describe(path, entry.stat())

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        try:
            found = os.stat(f"{self._home}/{path}")  # noqa: PTH116 - a thousand times
        except OSError:
            return None
        return None if found.st_mode & 0o170000 == 0o040000 else _describe(path, found)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        try:
            with open(f"{self._home}/{path}", "rb", buffering=0) as file:  # noqa: PTH123
                data: bytes = file.read()
        except OSError:
            return None
        return data[start:] if length is None else data[start : start + length]

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        return self._write(path, data, "xb")

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        with suppress(FileNotFoundError):
            os.unlink(f"{self._home}/{path}")  # noqa: PTH108
        self._write(path, data, "xb")

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        with suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(f"{self._home}/{path}")  # noqa: PTH108

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file of another reader to a path here, replacing what is there."""
        data = source.read(path)
        if data is None:
            raise WriteError(to, why=f"There is no {path} to copy.", how="List it first.")
        self.put(to, data)

    def _write(self, path: str, data: bytes, mode: str) -> bool:
        full = f"{self._home}/{path}"
        try:
            with open(full, mode, buffering=0) as file:  # noqa: PTH123
                file.write(data)
        except FileExistsError:
            return False
        except FileNotFoundError:
            os.makedirs(os.path.dirname(full), exist_ok=True)  # noqa: PTH103, PTH120
            return self._write(path, data, mode)
        return True

    def _entries_in(self, directory: str) -> Sequence[os.DirEntry[str]]:
        try:
            with os.scandir(f"{self._home}/{directory}") as entries:
                return [*entries]
        except OSError:
            return []


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _describe(path: str, found: os.stat_result) -> FileInfo:
    etag = f"{found.st_ino:x}-{found.st_mtime_ns:x}-{found.st_size:x}"
    return FileInfo(path=path, size_bytes=found.st_size, modified=moment(found.st_mtime), etag=etag)
