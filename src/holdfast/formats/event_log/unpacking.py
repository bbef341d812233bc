"""The text of one file of an event log, as far as it can be read; how it is packed, by its bytes.

A log that is still open, or whose driver was killed, ends anywhere: what is before that is given,
and that it is cut is said. Which codec needs what:

    none, gzip, lzf         nothing; lzf is unpacked by Python, at a few MB per second
    zstd, lz4, snappy       pyarrow, which the extra `state` installs

Spark closes a zstd frame at every flush, so a file is thousands of small frames. pyarrow loses what
one `read` had gathered when it meets a frame that is cut: it is given whole frames only.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from importlib import import_module

import msgspec

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.state import codecs
from holdfast.errors import HoldfastError, MissingExtraError
from holdfast.formats.event_log.zstd_frames import MAGIC, take_whole_frames
from holdfast.storage.read import Reader, read_chunks

_GZIP = b"\x1f\x8b"
_BY_BLOCK = (b"LZ4Block", b"\x82SNAPPY\0", b"ZV")
_LONGEST_MAGIC = 8
_PIECE = 1 << 20
_CHUNK = 1 << 20
_GZIP_WINDOW = 31
"""zlib's 15 bits, and 16 for the header of gzip."""


class Unpacking(msgspec.Struct):
    """One file being read: iterate over it, then ask why it ended."""

    reader: Reader
    path: str
    stopped_by: str | None = None
    """Why the rest could not be read; None when it was read to its end."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the text in pieces, in constant memory; never raise on what a file holds."""
        try:
            yield from _unpack(read_chunks(self.reader, self.path, chunk_bytes=_CHUNK))
        except MissingExtraError as error:
            self.stopped_by = f"unpacking it needs {error.module}. {error.how}"
        except HoldfastError as error:
            self.stopped_by = error.why.rstrip(".")
        except (BrokenBytesError, zlib.error) as error:
            self.stopped_by = str(error)


def _unpack(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = b""
    while len(first) < _LONGEST_MAGIC and (chunk := next(chunks, None)) is not None:
        first += chunk

    def whole() -> Iterator[bytes]:
        if first:
            yield first
        yield from chunks

    if first.startswith(MAGIC):
        return _unpack_zstd(whole())
    if first.startswith(_BY_BLOCK):
        return codecs.unpack(whole())
    return _unpack_gzip(whole()) if first.startswith(_GZIP) else whole()


def _unpack_zstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        arrow = import_module("pyarrow")  # an extra, and slow to import
    except ImportError as error:
        purpose = "Reading this event log"
        raise MissingExtraError(purpose, module="pyarrow", extra="state") from error
    for frames in take_whole_frames(chunks):
        try:
            with arrow.CompressedInputStream(arrow.BufferReader(frames), "zstd") as stream:
                while piece := stream.read(_PIECE):
                    yield piece
        except (arrow.ArrowException, OSError) as error:
            raise BrokenBytesError("a zstd frame is damaged") from error


def _unpack_gzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    for chunk in chunks:
        rest = chunk
        while rest:
            if unpacker.eof:  # a file may be several, one after the other
                unpacker = zlib.decompressobj(_GZIP_WINDOW)
            yield unpacker.decompress(rest, _PIECE)
            rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
    if not unpacker.eof:
        raise BrokenBytesError("it ends in the middle of a gzip stream")
