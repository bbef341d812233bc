"""Changing this machine's disk: what is made is on disk before we say so.

The file is synced under another name and renamed in one step; then its directory is synced. A new
directory is synced into the one above it.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from holdfast.errors import WriteError
from holdfast.storage.half_made import temp_name
from holdfast.storage.local import LocalReader
from holdfast.storage.location import Location
from holdfast.storage.read import Reader, read_chunks

_NO_LINKS = (errno.ENOSYS, errno.ENOTSUP, errno.EPERM)
"""What mounts of object stores answer, such as a Volume's."""


class LocalWriter(LocalReader):
    """Reads and changes below a directory."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        with self._writing(path) as attempt:
            half_made = attempt.make([data])
            try:
                # A link is made only if the name is free, and never to half a file.
                os.link(half_made, attempt.target)
            except FileExistsError:
                attempt.sync_directory()  # its writer may have been killed before it did
                return False
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise attempt.unlinkable() from error
                raise
            half_made.unlink()  # before the sync, so that no power cut brings it back later
            attempt.sync_directory()
            return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        with self._writing(path) as attempt:
            attempt.make([data])
            attempt.replace()

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        # A link is deleted itself, wherever it leads.
        with _Attempt(self.location.join(path), self.entry(path)) as attempt:
            with suppress(NotADirectoryError):
                attempt.target.unlink(missing_ok=True)
            if attempt.target.parent.is_dir():
                attempt.sync_directory()

    def remove_empty_directories(self) -> None:
        """Remove the directories below the location that hold no file, also not further down."""
        top = self.inside("")
        for directory, _, _ in os.walk(top, topdown=False):
            below = Path(directory)
            if below != top and not any(below.iterdir()):
                with _Attempt(self.location.join(str(below.relative_to(top))), below) as attempt:
                    below.rmdir()
                    attempt.sync_directory()

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path below the same location, replacing what is there."""
        self.copy_from(self, source, to=target)

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file of another reader to a path here, replacing what is there."""
        with self._writing(to) as attempt:
            if isinstance(source, LocalReader):
                shutil.copyfile(source.inside(path), attempt.half_made)
                sync(attempt.half_made)
            else:
                if source.stat(path) is None:
                    raise attempt.nothing_to_copy(path)
                attempt.make(read_chunks(source, path))
            attempt.replace()

    def _writing(self, path: str) -> _Attempt:
        attempt = _Attempt(self.location.join(path), self.inside(path))
        attempt.make_directory()
        return attempt


class _Attempt:
    """One change of one file: what is half made is removed, and errors become `WriteError`."""

    def __init__(self, location: Location, target: Path) -> None:
        self._location = location
        self.target = target
        self.half_made = target.with_name(temp_name())

    def make_directory(self) -> None:
        try:
            make_directories(self.target.parent)
        except OSError as error:
            raise self._unwritable(error) from error

    def make(self, chunks: Iterable[bytes]) -> Path:
        with self.half_made.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        return self.half_made

    def replace(self) -> None:
        self.half_made.rename(self.target)
        self.sync_directory()

    def sync_directory(self) -> None:
        sync(self.target.parent)

    def __enter__(self) -> _Attempt:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with suppress(OSError):
            self.half_made.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise self._unwritable(error) from error

    def nothing_to_copy(self, path: str) -> WriteError:
        return WriteError(
            str(self._location), why=f"There is no {path} to copy.", how="List it first."
        )

    def unlinkable(self) -> WriteError:
        return WriteError(
            str(self._location),
            why="This file system has no hard links, so that two drivers could both create a file.",
            how="Use a root on a disk, or the store itself: s3://, abfss://, gs:// or hdfs://.",
        )

    def _unwritable(self, error: OSError) -> WriteError:
        return WriteError(
            str(self._location),
            why=f"The system answered: {error.strerror}.",
            how="Run as an account that may write there, on a disk that has room.",
        )


def make_directories(directory: Path) -> None:
    """Create a directory and those above it: each is in a directory that was synced."""
    if directory.is_dir():
        return
    make_directories(directory.parent)
    directory.mkdir(exist_ok=True)
    sync(directory.parent)


def sync(path: Path | str) -> None:
    """Wait until a file, or the names in a directory, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_local_writer(place: Location, options: Mapping[str, str] | None) -> LocalWriter:
    """Return a writer of a directory on disk."""
    del options
    return LocalWriter(place)
