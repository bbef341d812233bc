r"""The form that logs of files share: the file source's and the file sink's.

Grammar, from Spark 4.3 `runtime/CompactibleFileStreamLog.scala`: a versioned text, one JSON object
per file that was read or written.

    v1
    <JSON object>*

Every tenth file or so is `<n>.compact` and holds every entry up to n: it only grows, can have 50
million of them, and is read as a stream. Lines end as in the other text logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from holdfast.checkpoint.unparsed import Unparsed

T = TypeVar("T")

MOST_LINE_BYTES = 1 << 20
"""Far more than a path and some numbers; a file without line ends must not fill the memory."""

_VERSION_LINE = b"v1"


def parse_entries(
    path: str, chunks: Iterator[bytes], decode: Callable[[str], T]
) -> Iterator[T | Unparsed]:
    """Yield the entries of one file of a log, in constant memory.

    What cannot be understood ends the file: Spark would refuse it whole.
    """
    lines = enumerate(_lines(chunks), start=1)
    _, first = next(lines, (0, None))
    if first is None:
        yield Unparsed(path=path, reason="the file is empty", spark_says="Incomplete log file")
        return
    if first != _VERSION_LINE:
        yield Unparsed(path=path, reason=f"its first line is {first[:40]!r}, not 'v1'")
        return
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
