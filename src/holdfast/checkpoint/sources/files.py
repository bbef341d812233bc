"""The file source's log of every file it has ever read, and the index into it that its offset is.

From Spark 4.3 `sources/FileStreamSourceOffset.scala`:

    {"logOffset":7}

`sources/<i>/<n>` and `<n>.compact`, from `runtime/FileStreamSourceLog.scala`: a file log.

    v1
    {"path":"file:///in/f000.json","timestamp":<modified, ms>,"batchId":<log offset>}

`<n>.compact` holds every entry up to n, so a compact log only grows: it is read as a stream. It is
written before the batch's offset entry, so after a crash it may be one entry ahead, never behind.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.file_log import parse_entries
from holdfast.checkpoint.text import leading_json, parse_json_object, whole_number
from holdfast.checkpoint.unparsed import Unparsed


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One file that the source has read; a struct, because a log can hold 50 million."""

    path: str
    """A URI, percent-encoded, as it stands in the log."""
    timestamp_ms: int = msgspec.field(name="timestamp")
    log_offset: int = msgspec.field(name="batchId")


_DECODER = msgspec.json.Decoder(FileEntry)


def parse_log_offset(text: str) -> int | None:
    """Read the offset of a file source; None when the text is another source's."""
    # Kafka's offsets can be megabytes: they are not built to find that out.
    found = parse_json_object(text) if '"logOffset"' in text else None
    return whole_number((found or {}).get("logOffset"))


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
