"""Reads one small file whole, whatever becomes of it: gone, forbidden or absurdly large."""

from __future__ import annotations

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import ReadError
from holdfast.storage.read import Reader

LARGEST_ENTRY = 128 << 20
"""An offset entry of a million Kafka partitions has 20 MB."""


def read_whole(
    reader: Reader, path: str, *, length: int = LARGEST_ENTRY + 1
) -> bytes | Unparsed | None:
    """Return the bytes of a file, or its first ones; None when it is not there."""
    try:
        raw = reader.read(path, length=length)
    except ReadError as error:
        return Unparsed(path=path, reason=f"it could not be read: {error.why}", unread=True)
    if raw is not None and len(raw) > LARGEST_ENTRY:
        return Unparsed(path=path, reason=f"it is larger than {LARGEST_ENTRY >> 20} MB")
    return raw
