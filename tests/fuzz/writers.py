"""Writes what Spark writes, as small as it can be said: for round trips, and for hostile files."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
from xxhash import xxh32_intdigest

END = struct.pack(">i", -1)


def versioned(version: int, *lines: str) -> bytes:
    """Return a text log entry."""
    return "\n".join([f"v{version}", *lines]).encode("utf-8", "surrogatepass")


def sized(raw: bytes) -> bytes:
    """Return bytes with their length before them."""
    return struct.pack(">i", len(raw)) + raw


def utf(text: str) -> bytes:
    """Return a string as Java's `writeUTF` writes it."""
    units = text.encode("utf-16-be", "surrogatepass")
    chars = (chr(unit) for (unit,) in struct.iter_unpack(">H", units))
    raw = b"".join(
        b"\xc0\x80" if char == "\0" else char.encode("utf-8", "surrogatepass") for char in chars
    )
    return struct.pack(">H", len(raw)) + raw


def chunks(text: str, length: int = 1000) -> bytes:
    """Return a string in pieces."""
    pieces = [text[at : at + length] for at in range(0, len(text), length)]
    return struct.pack(">i", len(pieces)) + b"".join(map(utf, pieces))


def pairs(changes: Iterable[tuple[bytes, bytes | None]]) -> bytes:
    """Return the records of a delta, a snapshot or a changelog of version 1; None is removed."""
    records = (sized(key) + (END if value is None else sized(value)) for key, value in changes)
    return b"".join(records) + END


def typed(changes: Iterable[tuple[bytes, bytes | None]]) -> bytes:
    """Return the records of a changelog of version 2."""
    records = (
        b"\x10" + sized(key) + END if value is None else b"\x01" + sized(key) + sized(value)
        for key, value in changes
    )
    return b"".join(records) + b"\0"


def compress(codec: str, raw: bytes) -> bytes:
    """Return what a codec of pyarrow makes of bytes."""
    packed: bytes = pa.compress(raw, codec=codec, asbytes=True)
    return packed


def lz4_block(
    packed: bytes,
    raw_bytes: int,
    *,
    raw: bytes = b"",
    token: int = 0x26,
    packed_bytes: int | None = None,
) -> bytes:
    """Return one block of Spark's LZ4, with the hash of what it unpacks to."""
    said = len(packed) if packed_bytes is None else packed_bytes
    hashed = xxh32_intdigest(raw, 0x9747B28C) & 0x0FFFFFFF if raw else 0
    return b"LZ4Block" + bytes([token]) + struct.pack("<iiI", said, raw_bytes, hashed) + packed


def stored(raw: bytes) -> bytes:
    """Return one block of Spark's LZ4 that is not packed."""
    return lz4_block(raw, len(raw), raw=raw, token=0x16)


def lz4(raw: bytes) -> bytes:
    """Return a file of Spark's LZ4, in blocks of 100 bytes."""
    pieces = [raw[at : at + 100] for at in range(0, len(raw), 100)]
    blocks = [lz4_block(compress("lz4_raw", piece), len(piece), raw=piece) for piece in pieces]
    return b"".join([*blocks, lz4_block(b"", 0)])


def snappy_blocks(*blocks: tuple[int, bytes]) -> bytes:
    """Return a file of Snappy blocks, each with the length it says."""
    head = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
    return head + b"".join(struct.pack(">i", said) + block for said, block in blocks)


def snappy(raw: bytes) -> bytes:
    """Return a file of Spark's Snappy."""
    block = compress("snappy", raw)
    return snappy_blocks((len(block), block))


def zstd(raw: bytes) -> bytes:
    """Return a file of zstd."""
    return compress("zstd", raw)


def lzf_chunk(packed: bytes, raw_bytes: int) -> bytes:
    """Return one packed chunk of LZF."""
    return b"ZV\1" + struct.pack(">HH", len(packed), raw_bytes) + packed


def lzf(raw: bytes) -> bytes:
    """Return a file of LZF: of every two chunks one is packed, as literals, which is allowed."""
    out = []
    for place, at in enumerate(range(0, len(raw), 32)):
        piece = raw[at : at + 32]
        plain = b"ZV\0" + struct.pack(">H", len(piece)) + piece
        out.append(lzf_chunk(bytes([len(piece) - 1]) + piece, len(piece)) if place % 2 else plain)
    return b"".join(out)


CODECS = {"lz4": lz4, "stored": stored, "zstd": zstd, "snappy": snappy, "lzf": lzf}


def sidecar(raw: bytes, piece_bytes: int = 512) -> bytes:
    """Return Hadoop's checksums of a file."""
    sums = [zlib.crc32(raw[at : at + piece_bytes]) for at in range(0, len(raw), piece_bytes)]
    return b"crc\0" + struct.pack(f">i{len(sums)}I", piece_bytes, *sums)


def zip_of(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    """Return a zip."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members:
            archive.writestr(member, content)
    return out.getvalue()


def snapshot_metadata(ssts: Sequence[tuple[str, int]], **other: object) -> bytes:
    """Return the member `metadata` of a RocksDB snapshot."""
    files = [{"dfsSstFileName": name, "sizeBytes": size} for name, size in ssts]
    body = {"sstFiles": files, "logFiles": [], "numKeys": 2, **other}
    return versioned(1, json.dumps(body))


def operator_metadata(version: int, *, name: str, stores: Sequence[Mapping[str, object]]) -> bytes:
    """Return what an operator says of itself."""
    body = {"operatorInfo": {"operatorId": 0, "operatorName": name}, "stateStoreInfo": stores}
    return versioned(version, json.dumps(body))
