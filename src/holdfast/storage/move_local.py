"""Moving directories on this machine's disk: what was moved is on disk before we say so."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from holdfast.confinement import refuse_outside
from holdfast.errors import WriteError
from holdfast.storage.location import Location
from holdfast.storage.write_local import LocalWriter, make_directories, sync

_FREE = (errno.ENOENT, errno.ENOTDIR)
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY)
"""What a rename answers when the other name is a directory that holds something."""


class LocalMover(LocalWriter):
    """Reads, changes and moves below a directory."""

    def move(self, source: str, target: str) -> bool:
        """Give a file or a directory another path, with all that is in it."""
        old, new = self.entry(source), self.entry(target)
        with self._changing(target):
            if os.path.lexists(new):
                return False
            try:
                old.rename(new)
            except OSError as error:
                if error.errno in (*_FREE, *_TAKEN):
                    return False
                raise
            for parent in {new.parent, old.parent}:
                try:
                    sync(parent)
                except FileNotFoundError:
                    # It was moved itself: who moved it has synced it.
                    continue
        return True

    def make_directory(self, path: str) -> None:
        """Create a directory and those above it; one that is there is no error."""
        with self._changing(path):
            make_directories(self.inside(path))

    def is_directory(self, path: str) -> bool:
        """Return whether a directory has this path."""
        return self.inside(path).is_dir()

    def delete_tree(self, path: str) -> None:
        """Delete a directory with all that is in it; one that is not there is no error."""
        with self._changing(path):
            try:
                shutil.rmtree(self.entry(path))
            except FileNotFoundError:
                return

    def sync_tree(self, path: str) -> None:
        """Wait until a directory and its files are on disk."""
        with self._changing(path):
            for directory, _, files in os.walk(self.inside(path)):
                for name in files:
                    sync(os.path.join(directory, name))  # noqa: PTH118 - of thousands
                sync(directory)

    @contextmanager
    def _changing(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WriteError(
                str(self.location.join(path)),
                why=f"The system answered: {error.strerror}.",
                how="Run as an account that may write there, on one disk that has room.",
            ) from error


def open_local_mover(place: Location, options: Mapping[str, str] | None) -> LocalMover:
    """Return what reads, changes and moves below a directory on disk.

    Raises:
        OutsideRootsError: This process may not open it.
    """
    del options
    refuse_outside(place)
    return LocalMover(place)
