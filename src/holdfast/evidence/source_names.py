"""What the sources of a query are, as far as its checkpoint tells: to compare two queries."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from holdfast.checkpoint.file_log import MOST_LINE_BYTES
from holdfast.checkpoint.layout import SOURCES, Kind, parse_name
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.sources.registry import parse_offset
from holdfast.storage.read import Reader


def name_sources(reader: Reader, entry: OffsetEntry) -> Iterator[str]:
    """Yield what the sources of an offset entry are; nothing of one that does not tell.

    Raises:
        ReadError: The log of a file source cannot be read.
    """
    for each in entry.offsets:
        offset = None if each.text is None else parse_offset(each.text)
        yield from () if offset is None else offset.identities
        if offset is not None and offset.log_index is not None:
            found = first_directory(reader, each.source)
            yield from () if found is None else (f"directory {found}",)


def first_directory(reader: Reader, source: str) -> str | None:
    """Return the directory of the first file that a file source has read, percent-encoded.

    None if its log does not say it.

    Raises:
        ReadError: The log cannot be read.
    """
    for info in reader.list(f"{SOURCES}/{source}").files:
        if parse_name(info.path).kind not in (Kind.ENTRY, Kind.COMPACT):
            continue
        raw = reader.read(info.path, length=MOST_LINE_BYTES) or b""
        first = next(parse_file_log(info.path, iter((raw,))), None)
        return posixpath.dirname(first.path) if isinstance(first, FileEntry) else None
    return None
