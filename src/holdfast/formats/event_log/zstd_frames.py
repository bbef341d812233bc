"""Where the frames of a zstd stream end, from their headers alone (RFC 8878, section 3.1.1)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.binary import BrokenBytesError

MAGIC = b"\x28\xb5\x2f\xfd"
LARGEST_FRAME = 64 << 20
"""That is held in memory; Spark closes a frame at every flush, which is after kilobytes."""
_SMALLEST_GROUP = 1 << 18
_RLE = 1
"""A block that is one byte, repeated: its size is not that of the data."""


def take_whole_frames(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield complete frames, many at a time; the text of a frame that is cut is not given.

    Raises:
        BrokenBytesError: The stream ends within a frame, or has something else than a frame.
    """
    held = bytearray()
    scan = _Scan()
    for chunk in chunks:
        held += chunk
        scan.go_on(held)
        if scan.whole >= _SMALLEST_GROUP or (scan.whole and scan.whole == len(held)):
            yield bytes(held[: scan.whole])
            del held[: scan.whole]
            scan.forget()
        if len(held) - scan.whole > LARGEST_FRAME:
            raise BrokenBytesError(f"a zstd frame is larger than {LARGEST_FRAME >> 20} MB")
    if scan.whole:
        yield bytes(held[: scan.whole])
    rest = held[scan.whole :]
    if rest.startswith(MAGIC[: len(rest)]) and rest:
        raise BrokenBytesError("it ends in the middle of a zstd frame")
    if rest:
        raise BrokenBytesError(f"{len(rest):,} bytes are no zstd frame")


class _Scan(msgspec.Struct):
    """How far frames were looked at: each byte of a header once, however small the chunks are."""

    whole: int = 0
    """Where the last complete frame ends."""
    block: int = 0
    """Where a block of the frame after it begins; 0 if its header is still to be read."""

    def forget(self) -> None:
        """Count from where the last complete frame ends."""
        self.block = max(0, self.block - self.whole)
        self.whole = 0

    def go_on(self, data: bytearray) -> None:
        """Look at what was added."""
        while (end := self._end_of_frame(data)) is not None:
            self.whole, self.block = end, 0

    def _end_of_frame(self, data: bytearray) -> int | None:
        size, at = len(data), self.whole
        if at + 6 > size or data[at : at + 4] != MAGIC:
            return None
        about = data[at + 4]
        here = self.block or at + _header_size(about)
        is_last = 0
        while not is_last:
            self.block = here
            if here + 3 > size:
                return None
            head = data[here] | data[here + 1] << 8 | data[here + 2] << 16
            is_last = head & 1
            here += 3 + (1 if head >> 1 & 3 == _RLE else head >> 3)
        here += 4 * (about >> 2 & 1)  # a checksum
        return here if here <= size else None


def _header_size(about: int) -> int:
    is_single = about >> 5 & 1
    size = 5 + (0 if is_single else 1) + (0, 1, 2, 4)[about & 3]
    return size + (is_single, 2, 4, 8)[about >> 6]
