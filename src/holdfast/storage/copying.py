"""Copying a tree of files to another location: parallel, restartable, verified.

A copy that was cut short is finished by the same call. After a kill or a power cut the target has
some of the files, each of them complete, and perhaps files that are half made. Their names say so,
and the next call deletes them. On disk a file is synced before it gets its name. Many threads sync
at the same time, and the file system commits their changes together.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import zip_longest
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from holdfast.errors import HoldfastError
from holdfast.storage.below import reader_of_file
from holdfast.storage.half_made import is_half_made
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.location import is_inside
from holdfast.storage.read import FileInfo, Reader, read_chunks
from holdfast.storage.write import Writer

WORKERS = 32
_WAITING_FACTOR = 4
"""Files that wait for each worker: what is in memory does not grow with the tree."""
_OF_CONTENT = re.compile(r"[0-9a-f]{32}(-\d+)?")
"""The form of S3's ETag that is the MD5 of the content, or of the parts it was uploaded in."""

T = TypeVar("T")
R = TypeVar("R")
Pair = tuple[FileInfo | None, FileInfo | None]


class CopyRefusedError(HoldfastError):
    """The target has other files than the source. None of them was overwritten."""

    code = "COPY_REFUSED"

    def __init__(self, path: str, *, target: Reader, why: str, how: str) -> None:
        self.path = path
        """The file, below both locations."""
        self.target = str(target.location)
        super().__init__(
            what=f"Cannot copy to {target.location.join(path) if path else target.location}.",
            why=why,
            how=how,
        )


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """All files below a location."""

    count: int
    size_bytes: int
    fingerprint: str
    """SHA-256 of the sorted paths, each with its size and its ETag, or its time without one."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a copy is, in files."""

    found_there: int = 0
    """Files that the target had already, and that are the same."""
    copied: int = 0
    bytes_copied: int = 0
    verified: int = 0
    """Of those found there and those copied."""


def list_tree(reader: Reader, directory: str = "") -> Tree:
    """Return how many files are below a directory, and a fingerprint that changes with any of them.

    Memory does not grow with the tree: a bucket lists in order, and elsewhere one directory after
    the other is listed and sorted.

    Raises:
        ReadError: The store did not let us list it.
    """
    digest, count, size_bytes = hashlib.sha256(), 0, 0
    for info in walk_in_order(reader, directory):
        line = [info.path, info.size_bytes, info.etag or info.modified.isoformat()]
        digest.update(json.dumps(line).encode() + b"\n")
        count += 1
        size_bytes += info.size_bytes
    return Tree(count=count, size_bytes=size_bytes, fingerprint=digest.hexdigest())


def copy_tree(
    source: Reader,
    target: Writer,
    *,
    leaves_out: Collection[str] = (),
    workers: int = WORKERS,
) -> Iterator[Progress]:
    """Copy every file below one location to another, and yield how far it is after each file.

    The copy is complete when the iterator has ended. Directories without files are not copied. No
    other process may change either location meanwhile: the caller holds the lease.

    Args:
        source: What to copy.
        target: Where to; files of the source may be there already.
        leaves_out: Paths that are neither copied nor compared.
        workers: How many files are copied at once.

    Raises:
        CopyRefusedError: The target has a file that the source does not have, or a different one.
            The source has changed while it was copied. One location is inside the other.
        ReadError: A store did not let us read.
        WriteError: The target did not take a file.
    """
    copy = _Copy(source, target, workers, leaves_out=frozenset(leaves_out))
    copy.refuse_nested()
    yield from copy.compare()
    yield from copy.copy_missing()
    yield from copy.verify()


class _Copy:
    """One call of `copy_tree`."""

    def __init__(
        self, source: Reader, target: Writer, workers: int, *, leaves_out: frozenset[str]
    ) -> None:
        self._source = source
        self._target = target
        self._workers = workers
        self._leaves_out = leaves_out
        self._progress = Progress()

    def refuse_nested(self) -> None:
        """Refuse to copy a directory into itself."""
        one, other = self._source.location, self._target.location
        if one.scheme != "memory" and (is_inside(one, other) or is_inside(other, one)):
            raise self._refuse(
                "",
                why=f"One of the two locations is inside the other: the source is {one}.",
                how="Copy to a location outside the source.",
            )

    def compare(self) -> Iterator[Progress]:
        """Check that the target has files of the source only; delete what is half made there."""
        if not self._target.walk_page("").files:
            return
        there = ((one, other) for one, other in self._pairs() if other is not None)
        for found in self._in_parallel(self._compare, there):
            yield self._advance(found_there=found)

    def copy_missing(self) -> Iterator[Progress]:
        """Copy what the target does not have."""
        missing = (one for one, other in self._pairs() if one is not None and other is None)
        for size_bytes in self._in_parallel(self._copy, missing):
            yield self._advance(copied=1, bytes_copied=size_bytes)

    def verify(self) -> Iterator[Progress]:
        """Check that the target has the files of the source and no others."""
        for _ in self._in_parallel(self._verify, self._pairs()):
            yield self._advance(verified=1)

    def _compare(self, pair: tuple[FileInfo | None, FileInfo]) -> int:
        one, other = pair
        if one is None and is_half_made(other.path):
            self._target.delete(other.path)
            return 0
        if one is None:
            raise self._refuse(
                other.path,
                why="The target has this file, and the source does not.",
                how="Copy to an empty location, or delete the file there if nothing needs it.",
            )
        listed = _compare_listed(one, other)
        if not (self._has_same_content(one.path) if listed is None else listed):
            raise self._refuse(
                one.path,
                why="A different file is there already. It was not overwritten.",
                how="Copy to an empty location, or move that file away if nothing needs it.",
            )
        return 1

    def _copy(self, info: FileInfo) -> int:
        reader, path = reader_of_file(self._source, info.path)
        self._target.copy_from(reader, path, to=info.path)
        return info.size_bytes

    def _verify(self, pair: Pair) -> None:
        one, other = pair
        is_same: bool | None = False
        if one is not None and other is not None:
            is_same = _compare_listed(one, other)
            # The same size says nothing, and the original may be deleted next. Azure answers
            # before it has copied, with the size of what is to come.
            if is_same is None:
                is_same = self._has_same_content(one.path)
        if is_same is False:
            found = one or other
            raise self._refuse(
                found.path if found else "",
                why="The copy is not the same as the source: one of them has changed meanwhile.",
                how="Stop what writes there, delete the copy, and copy again.",
            )

    def _has_same_content(self, path: str) -> bool:
        chunks = zip_longest(read_chunks(self._source, path), read_chunks(self._target, path))
        return all(one == other for one, other in chunks)

    def _pairs(self) -> Iterator[Pair]:
        """Yield the files of both by path; None for the one that does not have it."""
        ours, theirs = self._walk(self._source), self._walk(self._target)
        one, other = next(ours, None), next(theirs, None)
        while one is not None or other is not None:
            if other is None or (one is not None and one.path < other.path):
                yield one, None
                one = next(ours, None)
            elif one is None or other.path < one.path:
                yield None, other
                other = next(theirs, None)
            else:
                yield one, other
                one, other = next(ours, None), next(theirs, None)

    def _walk(self, reader: Reader) -> Iterator[FileInfo]:
        return (info for info in walk_in_order(reader) if info.path not in self._leaves_out)

    def _in_parallel(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield what a function returns for each of the items, in their order."""
        waiting: deque[Future[R]] = deque()
        with ThreadPoolExecutor(self._workers) as pool:
            try:
                for item in items:
                    waiting.append(pool.submit(function, item))
                    if len(waiting) >= self._workers * _WAITING_FACTOR:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for each in waiting:
                    each.cancel()

    def _advance(self, **more: int) -> Progress:
        counts = {name: getattr(self._progress, name) + count for name, count in more.items()}
        self._progress = replace(self._progress, **counts)
        return self._progress

    def _refuse(self, path: str, *, why: str, how: str) -> CopyRefusedError:
        return CopyRefusedError(path, target=self._target, why=why, how=how)


def _compare_listed(one: FileInfo, other: FileInfo) -> bool | None:
    """Return whether two files are the same as far as a listing tells; None if it does not."""
    if one.size_bytes != other.size_bytes:
        return False
    # Only S3's has this form; those of Azure and Google are of the version and not the content.
    is_of_content = _OF_CONTENT.fullmatch(one.etag or "") is not None
    return True if is_of_content and one.etag == other.etag else None
