"""Reading bytes at a location. That a file is not there is a value; that we may not look, an error.

Paths are relative POSIX strings (`offsets/41`). A `Reader` cannot write: writing is another type,
in `holdfast.storage.write`, that only the packages allowed to change things may import.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from heapq import nsmallest
from typing import Protocol

import msgspec

from holdfast.storage.location import Location

CHUNK_BYTES = 4 << 20
PAGE_ENTRIES = 1_000
"""Of one page of a listing: as many as S3 and Google Cloud Storage give in one answer."""


def moment(seconds: float) -> datetime:
    """Return a time since 1970 that a store gave; 1970 for a year that no calendar here has."""
    try:
        return datetime.fromtimestamp(seconds, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One file as a listing shows it."""

    path: str
    size_bytes: int
    modified: datetime
    etag: str | None = None
    """The store's name for this content; None where a store has none."""


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """One directory: its files, and the names of the directories in it; both sorted."""

    files: tuple[FileInfo, ...]
    directories: tuple[str, ...]


class Page(Listing, frozen=True, kw_only=True):
    """One page of a directory."""

    next_after: str | None
    """Where the next page begins, as the `after` to list it with; None if this is the last."""


class WalkPage(msgspec.Struct, frozen=True, kw_only=True):
    """The first files below a directory, at any depth, sorted by path."""

    files: tuple[FileInfo, ...]
    is_last: bool
    """Whether no file follows; False when that is not known without another request."""


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

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it.

        One request, however many files come before: names are in the order of their characters.
        A directory sorts as its name and a slash, so it comes after a file of the same name.

        Args:
            directory: What to list; an empty page if it does not exist.
            after: The name of a file, which need not exist; empty for the first page.

        Raises:
            ReadError: The store did not let us list it.
        """

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory, in no promised order and in constant memory.

        Raises:
            ReadError: The store did not let us list it.
        """

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first 1,000 files below a directory, at any depth: one request in a bucket.

        Args:
            directory: Where to look.
            after: Only paths that sort after this one, whether or not it is there.

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


def answers_at_once(reader: Reader) -> bool:
    """Return whether a reader answers without waiting for a network, so that threads only cost.

    A reader of a bucket may say so of itself, by the same name: another one has its threads.
    """
    return reader.location.is_local or getattr(reader, "answers_at_once", False)


def cut_page(names: Iterable[str], after: str) -> tuple[list[str], str | None]:
    """Return the names of one page, and where the next one begins.

    Args:
        names: All of a directory, in any order; those of directories end in a slash.
        after: Where the page begins.
    """
    found = nsmallest(PAGE_ENTRIES + 1, (name for name in names if name > after))
    page = found[:PAGE_ENTRIES]
    return page, page[-1] if len(found) > PAGE_ENTRIES else None


def read_chunks(reader: Reader, path: str, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield a file piece by piece, whatever its size; nothing when it is not there."""
    start = 0
    while chunk := reader.read(path, start=start, length=chunk_bytes):
        yield chunk
        start += len(chunk)
        if len(chunk) < chunk_bytes:
            return
