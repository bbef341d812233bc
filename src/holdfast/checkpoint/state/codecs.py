r"""Compression of state files: one stream over the whole file, known by how it begins.

From Spark 4.3 `core/…/io/CompressionCodec.scala`, by the pinned `stateStore.compression.codec`:

    lz4      ("LZ4Block" · token · int32 LE packed · int32 LE raw · int32 LE hash · data)*; token
             0x1_ is stored, 0x2_ packed; the hash is 28 bits of XXH32; raw 0 is the end. Not
             LZ4's frame format
    zstd     28 b5 2f fd · standard frames
    snappy   82 "SNAPPY" 00 · int32 version · int32 compatible · (int32 length · raw snappy)*
    lzf      ("ZV" · 00 · int16 length · data | "ZV" · 01 · int16 packed · int16 raw · data)*

pyarrow does the unpacking (clusters have it, and it streams). LZF, which nothing installs, is done
here, and so are small LZ4 blocks, which are not worth the import. What a file claims to be is never
allocated before its bytes are there.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.checkpoint.binary import BrokenBytesError, ByteSource
from holdfast.checkpoint.state.lz4_block import unpack_lz4_block
from holdfast.errors import MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

LARGEST_BLOCK = 64 << 20
LARGEST_EXPANSION = 2_000
"""Times the packed size: LZ4 and Snappy cannot exceed 255, rows of zeros in zstd stay below."""
_FREE_BYTES = 16 << 20
_SMALL_BLOCK = 1 << 10
"""Unpacked by hand in 0.1 ms; importing pyarrow takes as long as 800 of them."""
_LZ4_SEED = 0x9747B28C
_LZ4, _ZSTD, _SNAPPY, _LZF = b"LZ4Block", b"\x28\xb5\x2f\xfd", b"\x82SNAPPY\0", b"ZV"
_LZ4_STORED, _LZ4_PACKED = 0x10, 0x20


def unpack(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of a compressed state file, in constant memory.

    Raises:
        BrokenBytesError: It is not what one of Spark's codecs writes.
        MissingExtraError: pyarrow is not installed.
    """
    counted = CountedChunks(chunks)
    first = b""
    while len(first) < len(_LZ4) and (chunk := next(counted, None)) is not None:
        first += chunk
    raw = _unpack_by_magic(first, counted)
    unpacked = 0
    for piece in raw:
        unpacked += len(piece)
        if unpacked > _FREE_BYTES + LARGEST_EXPANSION * counted.bytes_read:
            raise BrokenBytesError(f"it unpacks to more than {LARGEST_EXPANSION:,} times its size")
        yield piece


class CountedChunks(Iterator[bytes]):
    """Counts the bytes that pass."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        """Wrap a stream of chunks."""
        self._chunks = chunks
        self.bytes_read = 0

    def __next__(self) -> bytes:
        chunk = next(self._chunks)
        self.bytes_read += len(chunk)
        return chunk


def _unpack_by_magic(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    def whole() -> Iterator[bytes]:
        yield first
        yield from rest

    if first.startswith(_LZ4):
        return _unpack_lz4(ByteSource(whole()))
    if first.startswith(_ZSTD):
        return _unpack_zstd(whole())
    if first.startswith(_SNAPPY):
        return _unpack_snappy(ByteSource(whole()))
    if first.startswith(_LZF):
        return _unpack_lzf(ByteSource(whole()))
    found = "it is empty" if not first else f"it begins with {first[:8]!r}, as no codec of Spark's"
    raise BrokenBytesError(found)


def _unpack_lz4(source: ByteSource) -> Iterator[bytes]:
    from xxhash import xxh32_intdigest  # noqa: PLC0415 - loaded when state is opened

    while not source.ended():
        if source.take(len(_LZ4)) != _LZ4:
            raise BrokenBytesError("a block does not begin with LZ4Block")
        method = source.take(1)[0] & 0xF0
        packed_bytes, raw_bytes, checksum = struct.unpack("<iiI", source.take(12))
        if raw_bytes == 0 and packed_bytes == 0:
            continue
        if not 0 < raw_bytes <= LARGEST_BLOCK:
            raise BrokenBytesError(f"a block of {raw_bytes} bytes makes no sense")
        packed = source.take(packed_bytes)
        if method not in (_LZ4_PACKED, _LZ4_STORED):
            raise BrokenBytesError("a block is neither packed nor stored")
        raw = packed if method == _LZ4_STORED else decompress_lz4(packed, raw_bytes)
        if xxh32_intdigest(raw, _LZ4_SEED) & 0x0FFFFFFF != checksum:
            raise BrokenBytesError("a block does not fit its checksum")
        yield raw


def decompress_lz4(packed: bytes, raw_bytes: int) -> bytes:
    """Unpack a block that must be as long as it says.

    Raises:
        BrokenBytesError: It is damaged, or is not that long.
        MissingExtraError: pyarrow is not installed.
    """
    if raw_bytes <= _SMALL_BLOCK:
        return unpack_lz4_block(packed, raw_bytes)
    # pyarrow leaves what a shorter block does not fill as it was in memory. One byte less must
    # therefore be too little.
    raw = decompress("lz4_raw", packed, raw_bytes)
    try:
        decompress("lz4_raw", packed, raw_bytes - 1)
    except BrokenBytesError:
        return raw
    raise BrokenBytesError("a block is shorter than it says")


def _unpack_snappy(source: ByteSource) -> Iterator[bytes]:
    source.take(len(_SNAPPY) + 8)
    while not source.ended():
        packed = source.take(source.int32())
        yield decompress("snappy", packed, _snappy_length(packed))


def _snappy_length(packed: bytes) -> int:
    """Return the unpacked size that raw Snappy states in front, as a base-128 number."""
    length = 0
    for place, byte in enumerate(packed[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            break
    else:
        raise BrokenBytesError("a block does not say how long it is")
    if length > LARGEST_BLOCK:
        raise BrokenBytesError(f"a block of {length} bytes makes no sense")
    return length


def _unpack_zstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    arrow = _import_pyarrow()
    try:
        stream = arrow.CompressedInputStream(arrow.PythonFile(_File(chunks), mode="r"), "zstd")
        while piece := stream.read(1 << 20):
            yield piece
    except (arrow.ArrowException, OSError) as error:
        raise BrokenBytesError("its zstd frames are damaged") from error


class _File(io.RawIOBase):
    """A stream of chunks as a file that pyarrow can read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        super().__init__()
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece


def _unpack_lzf(source: ByteSource) -> Iterator[bytes]:
    while not source.ended():
        if source.take(2) != _LZF:
            raise BrokenBytesError("a chunk does not begin with ZV")
        is_packed = source.take(1)[0]
        (length,) = struct.unpack(">H", source.take(2))
        if is_packed:
            (raw_bytes,) = struct.unpack(">H", source.take(2))
            yield _unpack_lzf_chunk(source.take(length), raw_bytes)
        else:
            yield source.take(length)


def _unpack_lzf_chunk(packed: bytes, raw_bytes: int) -> bytes:
    out, at = bytearray(), 0
    try:
        while at < len(packed):
            control, at = packed[at], at + 1
            if control < 32:  # that many bytes plus one, as they are
                out += packed[at : at + control + 1]
                at += control + 1
                continue
            length = control >> 5
            if length == 7:
                length, at = length + packed[at], at + 1
            back = ((control & 0x1F) << 8) + packed[at] + 1
            at += 1
            for _ in range(length + 2):  # may overlap what it writes
                out.append(out[-back])
    except IndexError as error:
        raise BrokenBytesError("a chunk refers to bytes outside itself") from error
    if len(out) != raw_bytes:
        raise BrokenBytesError("a chunk is not as long as it says")
    return bytes(out)


def decompress(codec: str, packed: bytes, raw_bytes: int) -> bytes:
    """Unpack a block.

    Raises:
        BrokenBytesError: It is damaged.
        MissingExtraError: pyarrow is not installed.
    """
    arrow = _import_pyarrow()
    try:
        raw: bytes = arrow.decompress(packed, raw_bytes, codec=codec, asbytes=True)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise BrokenBytesError("a block is damaged") from error
    return raw


def _import_pyarrow() -> ModuleType:
    try:
        return import_module("pyarrow")  # an extra, and slow to import
    except ImportError as error:
        raise MissingExtraError("Counting rows", module="pyarrow", extra="state") from error
