"""The file source: its offset, and its log of every file it has ever read.

Offset, from Spark 4.3 `sources/FileStreamSourceOffset.scala`: an index into the log.

    {"logOffset":7}

`sources/<i>/<n>` and `<n>.compact`, from `runtime/FileStreamSourceLog.scala` and
`CompactibleFileStreamLog.scala`: a versioned text, one JSON object per file.

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

from holdfast.checkpoint.text import whole_number
from holdfast.checkpoint.unparsed import Unparsed

MOST_LINE_BYTES = 1 << 20
"""Far more than a path and two numbers; a file without line ends must not fill the memory."""

_VERSION_LINE = b"v1"


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
    """Yield the entries of one file of the log, in constant memory.

    What cannot be understood ends the file: Spark would refuse it whole.
    """
    lines = enumerate(_lines(chunks), start=1)
    _, first = next(lines, (0, None))
    if first is None:
        yield Unparsed(path=path, reason="the file is empty")
        return
    if first != _VERSION_LINE:
        yield Unparsed(path=path, reason=f"its first line is {first[:40]!r}, not 'v1'")
        return
    decode = _DECODER.decode
    for number, line in lines:
        if len(line) > MOST_LINE_BYTES:
            reason = f"line {number} is longer than {MOST_LINE_BYTES:,} bytes"
            yield Unparsed(path=path, reason=reason)
            return
        try:
            # As text: of bytes, the decoder would let pass what is not UTF-8 in a field it skips.
            entry = decode(line.decode())
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            yield Unparsed(path=path, reason=f"line {number} is not a file entry")
            return
        yield entry


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    r"""Yield the lines of a stream of bytes, as Spark's reader sees them.

    They end with \n, \r\n or \r, and one line end at the very end begins no further line. Of a line
    that is too long only the beginning is held: it is yielded, longer than the bound, as the last.
    """
    rest = b""
    for chunk in chunks:
        seen = rest + chunk
        # A \r at the very end may be half of a \r\n, so it waits for the next chunk.
        cut = max(seen.rfind(b"\n"), seen.rfind(b"\r", 0, -1)) + 1
        yield from seen[:cut].splitlines()
        rest = seen[cut:]
        if len(rest) > MOST_LINE_BYTES + 1:
            break
    yield from rest.splitlines()
