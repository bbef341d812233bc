"""Bytes as Java's `DataOutputStream` writes them: big-endian numbers, strings with a length.

`writeUTF` is an unsigned 16-bit length and *modified* UTF-8: U+0000 as C0 80, and what lies beyond
U+FFFF as two surrogates of three bytes each. A source of bytes is read once, from front to back, in
constant memory; that it ends too early is the one thing that can go wrong here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_INT32 = struct.Struct(">i")
LONGEST_TAKE = 64 << 20
"""More than this in one piece is no length that Spark wrote."""


class BrokenBytesError(ValueError):
    """Bytes do not follow their grammar; the readers of state files turn it into `Unparsed`."""


class ByteSource:
    """Takes numbers, strings and pieces off the front of a stream of chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        """Read nothing yet."""
        self._chunks = chunks
        self._held = b""
        self._at = 0

    def ended(self) -> bool:
        """Return whether nothing is left."""
        return self._at >= len(self._held) and not self._fill()

    def take(self, length: int) -> bytes:
        """Return exactly the next bytes.

        Raises:
            BrokenBytesError: Fewer are left, or the length is absurd.
        """
        if not 0 <= length <= LONGEST_TAKE:
            raise BrokenBytesError(f"a length of {length} bytes makes no sense")
        if len(self._held) - self._at >= length:
            self._at += length
            return self._held[self._at - length : self._at]
        pieces = []
        while length:
            piece = self._fill()[:length]
            if not piece:
                raise BrokenBytesError("it ends in the middle of a record")
            self._at += len(piece)
            length -= len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    def skip(self, length: int) -> None:
        """Pass over the next bytes without holding them.

        Raises:
            BrokenBytesError: Fewer are left.
        """
        while length > 0:
            there = len(self._held) - self._at
            if not there and not (there := len(self._fill())):
                raise BrokenBytesError("it ends in the middle of a record")
            step = min(there, length)
            self._at += step
            length -= step

    def int32(self) -> int:
        """Return a signed 32-bit number."""
        at = self._at
        if len(self._held) - at < _INT32.size:
            return int.from_bytes(self.take(_INT32.size), "big", signed=True)
        # In place: there are two of them in every record.
        self._at = at + _INT32.size
        value: int = _INT32.unpack_from(self._held, at)[0]
        return value

    def int16(self) -> int:
        """Return a signed 16-bit number."""
        (value,) = struct.unpack(">h", self.take(2))
        return int(value)

    def utf(self) -> str:
        """Return a string of `writeUTF`."""
        (length,) = struct.unpack(">H", self.take(2))
        return decode_modified_utf8(self.take(length))

    def _fill(self) -> bytes:
        """Return what is held of the current chunk, or of the next one that is not empty."""
        while self._at >= len(self._held):
            chunk = next(self._chunks, None)
            if chunk is None:
                return b""
            self._held, self._at = chunk, 0
        return self._held[self._at :]


def decode_modified_utf8(raw: bytes) -> str:
    """Return the text of Java's modified UTF-8.

    Raises:
        BrokenBytesError: It is not that.
    """
    try:
        text = raw.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeError as error:
        raise BrokenBytesError("it holds a string that is not Java's UTF-8") from error
