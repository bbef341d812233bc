"""The files below a location in the order of their paths, in constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from holdfast.errors import ReadError
from holdfast.storage.read import FileInfo, Reader

_UNORDERED_BUCKET = "--x-s3"
"""How the names of S3 Express One Zone's buckets end; they do not list in the order of keys."""


def walk_in_order(reader: Reader, directory: str = "") -> Iterator[FileInfo]:
    """Yield every file below a directory, sorted by path.

    Raises:
        ReadError: The store did not let us list it.
    """
    place = reader.location
    if place.kind.lists_in_order and not place.bucket.endswith(_UNORDERED_BUCKET):
        return _in_order(reader, directory)
    return _by_directory(reader, directory)


def _in_order(reader: Reader, directory: str) -> Iterator[FileInfo]:
    last = ""
    for info in reader.walk(directory):
        if info.path <= last:
            raise ReadError(
                str(reader.location),
                why=f"The store lists {info.path} after {last}, which is not in order.",
                how="Use a store that lists in the order of keys, as S3, Azure and Google do.",
            )
        last = info.path
        yield info


def _by_directory(reader: Reader, directory: str) -> Iterator[FileInfo]:
    """Yield files depth first; a directory sorts as its name and a slash, as in their paths."""

    def entries(here: str) -> Iterator[tuple[str, FileInfo | None]]:
        listing = reader.list(here)
        prefix = f"{here}/" if here else ""
        found: list[tuple[str, FileInfo | None]] = [(info.path, info) for info in listing.files]
        found += [(f"{prefix}{name}/", None) for name in listing.directories]
        return iter(sorted(found, key=itemgetter(0)))

    waiting = [entries(directory)]
    while waiting:
        path, info = next(waiting[-1], ("", None))
        if info is not None:
            yield info
        elif path:
            waiting.append(entries(path[:-1]))
        else:
            waiting.pop()
