"""Changing this machine's disk: what is made is on disk before we say so.

The file is synced under a name of its own, given its real name in one step, then its directory is
synced.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from holdfast.errors import WriteError
from holdfast.storage.local import LocalReader
from holdfast.storage.location import Location

_NO_LINKS = (errno.ENOSYS, errno.ENOTSUP, errno.EPERM)
"""What mounts of object stores answer, such as a Volume's."""


class LocalWriter(LocalReader):
    """Reads and changes below a directory."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file; return False, and change nothing, when one is there."""
        with self._writing(path) as attempt:
            half_made = attempt.make(data)
            try:
                # A link is made only if the name is free, and never to half a file.
                os.link(half_made, attempt.target)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise attempt.unlinkable() from error
                raise
            attempt.sync_directory()
            return True

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        with self._writing(path) as attempt:
            attempt.make(data).rename(attempt.target)
            attempt.sync_directory()

    def delete(self, path: str) -> None:
        """Delete a file; one that is not there is no error."""
        # A link is deleted itself, wherever it leads.
        with _Attempt(self.location.join(path), self.entry(path)) as attempt:
            attempt.target.unlink(missing_ok=True)
            attempt.sync_directory()

    def copy(self, source: str, target: str) -> None:
        """Copy a file to another path below the same location, replacing what is there."""
        with self._writing(target) as attempt:
            shutil.copyfile(self.inside(source), attempt.half_made)
            _sync(attempt.half_made)
            attempt.half_made.rename(attempt.target)
            attempt.sync_directory()

    def _writing(self, path: str) -> _Attempt:
        return _Attempt(self.location.join(path), self.inside(path))


class _Attempt:
    """One change of one file: what is half made is removed, and errors become `WriteError`."""

    def __init__(self, location: Location, target: Path) -> None:
        self._location = location
        self.target = target
        # Hidden, and not a name Spark would take for an entry.
        self.half_made = target.with_name(f".holdfast-{uuid.uuid4().hex}.tmp")

    def make(self, data: bytes) -> Path:
        with self.half_made.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return self.half_made

    def sync_directory(self) -> None:
        _sync(self.target.parent)

    def __enter__(self) -> _Attempt:
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with suppress(OSError):
            self.half_made.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise self._unwritable(error) from error

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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
