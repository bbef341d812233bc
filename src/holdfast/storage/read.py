"""Reading bytes at a location. That a file is not there is a value; that we may not look, an error.

Paths are relative POSIX strings (`offsets/41`). A `Reader` cannot write: writing is another type,
in `holdfast.storage.write`, that only the packages allowed to change things may import.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from holdfast.storage.location import Location

CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """One file as a listing shows it."""

    path: str
    size_bytes: int
    modified: datetime
    etag: str | None = None
    """The store's name for this content; None where a store has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One directory: its files, and the names of the directories in it; both sorted."""

    files: tuple[FileInfo, ...]
    directories: tuple[str, ...]


class Reader(Protocol):
    """Reads below one location."""

    @property
    def location(self) -> Location:
        """Where it reads."""

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory; an empty listing when it is not there.

        Raises:
            ReadError: The store did not let us list it.
        """

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory, in no promised order and in constant memory.

        Raises:
            ReadError: The store did not let us list it.
        """

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there.

        Raises:
            ReadError: The store did not let us look.
        """

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there.

        A part that lies beyond the end is cut off there.

        Raises:
            ReadError: The store did not let us read it.
        """


def read_chunks(reader: Reader, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield a file piece by piece, whatever its size; nothing when it is not there."""
    start = 0
    while chunk := reader.read(path, start=start, length=chunk_bytes):
        yield chunk
        start += len(chunk)
        if len(chunk) < chunk_bytes:
            return
