"""Reads what a start needs of the sources' own files: the end of each file source's log.

Spark reads that log from its newest compact file on. Where it has more files than a page, those
from the offset back to that compact file are found by their names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources.files import parse_log_offset
from holdfast.checkpoint.sources.read import SourceLog, read_source
from holdfast.storage.read import FileInfo, Reader

MOST_TAIL = 100
"""Files above the newest compact one that are looked for by name; Spark keeps 9 by default."""


def read_sources_near(
    reader: Reader, newest: OffsetEntry, *, is_shallow: bool = False
) -> tuple[SourceLog, ...]:
    """Read the logs of file sources, where they end.

    Args:
        reader: Of the checkpoint.
        newest: The newest offset entry.
        is_shallow: Whether only the newest file of each log is read.

    Raises:
        ReadError: A directory cannot be listed.
    """
    ends = {
        each.source: number
        for each in newest.offsets
        if each.text is not None and (number := parse_log_offset(each.text)) is not None
    }
    if not ends:
        return ()
    names = reader.list(SOURCES).directories
    return tuple(
        read_source(
            reader,
            name,
            _find_files(reader, f"{SOURCES}/{name}", ends[name]),
            is_shallow=is_shallow,
        )
        for name in names
        if name in ends
    )


def _find_files(reader: Reader, home: str, end: int) -> tuple[FileInfo, ...]:
    page = reader.walk_page(home)
    if page.is_last:
        return tuple(info for info in page.files if posixpath.dirname(info.path) == home)
    tail = tuple(_find_tail(reader, home, end))
    return reader.list(home).files if len(tail) >= MOST_TAIL else tail


def _find_tail(reader: Reader, home: str, end: int) -> Iterator[FileInfo]:
    """Yield the files of a log from the one after an offset back to the newest compact one."""
    for number in range(end + 1, max(end - MOST_TAIL, -1), -1):
        plain = reader.stat(f"{home}/{number}")
        if plain is not None:
            yield plain
            continue
        compact = reader.stat(f"{home}/{number}.compact")
        if compact is not None:
            yield compact
        if compact is not None or number <= end:
            return
