"""Moving files and directories in one step, which buckets cannot."""

from __future__ import annotations

from typing import Protocol

from holdfast.storage.write import Writer


class Mover(Writer, Protocol):
    """Changes below one location, and gives a file or a directory another name in one step."""

    def move(self, source: str, target: str) -> bool:
        """Give a file or a directory another path, with all that is in it.

        Returns False, and changes nothing, when there is no such source, when something has the
        name, or when the directory that the target is in does not exist. The last makes a
        directory that was renamed away take nothing any more.

        Raises:
            WriteError: The store did not answer so; whether it was moved is then not known.
        """

    def make_directory(self, path: str) -> None:
        """Create a directory and those above it; one that is there is no error.

        Raises:
            WriteError: The store did not create it.
        """

    def is_directory(self, path: str) -> bool:
        """Return whether a directory has this path.

        Raises:
            ReadError: The store did not let us look.
        """

    def delete_tree(self, path: str) -> None:
        """Delete a directory with all that is in it; one that is not there is no error.

        Raises:
            WriteError: The store did not delete it.
        """

    def sync_tree(self, path: str) -> None:
        """Wait until a directory and its files are on disk, where a crash could lose them.

        Raises:
            WriteError: The store did not say so.
        """
