"""The file source: its offset, and its log of every file it has ever read.

Offset, from Spark 4.3 `sources/FileStreamSourceOffset.scala`: an index into the log.

    {"logOffset":7}

`sources/<i>/<n>` and `<n>.compact`, from `runtime/FileStreamSourceLog.scala`: a file log.

    v1
    {"path":"file:///in/f000.json","timestamp":<modified, ms>,"batchId":<log offset>}

`<n>.compact` holds every entry up to n, so a compact log only grows: it is read as a stream. It is
written before the batch's offset entry, so after a crash it may be one entry ahead, never behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast.checkpoint.file_log import parse_entries
from holdfast.checkpoint.text import leading_json, whole_number
from holdfast.checkpoint.unparsed import Unparsed


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOffset:
    """How far the log of files has been read."""

    log_offset: int


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file that the source has read; a struct, because a log can hold 50 million."""

    path: str
    """A URI, percent-encoded, as it stands in the log."""
    timestamp_ms: int = msgspec.field(name="timestamp")
    log_offset: int = msgspec.field(name="batchId")


_DECODER = msgspec.json.Decoder(FileEntry)


def make_file_offset(found: dict[str, Any]) -> FileOffset | None:
    """Make a file source's offset of a JSON object; None when it is not one."""
    log_offset = whole_number(found.get("logOffset"))
    return None if log_offset is None else FileOffset(log_offset=log_offset)


def parse_file_log(path: str, chunks: Iterator[bytes]) -> Iterator[FileEntry | Unparsed]:
    """Yield the entries of one file of the log, in constant memory."""
    return parse_entries(path, chunks, _decode)


def _decode(line: str) -> FileEntry:
    """Decode one entry; Spark's parser does not look at what follows it in its line.

    Raises:
        DecodeError: The line does not begin with an entry.
    """
    try:
        return _DECODER.decode(line)
    except msgspec.DecodeError:
        begun = leading_json(line)
        if begun is None:
            raise
        return _DECODER.decode(begun)
