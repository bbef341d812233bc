"""Writes RocksDB's data files as Spark pins them: format version 5, for figures and tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import pyarrow as pa
from xxhash import xxh3_64_intdigest

MAGIC = bytes.fromhex("f7cff485b741e288")
REMOVED, PUT, MERGE = 0, 1, 2
STORED, LZ4 = 0, 4


def number(value: int) -> bytes:
    """Return a number in base 128."""
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def block(content: bytes, packing: int = STORED) -> bytes:
    """Return a block with its trailer."""
    body = content
    if packing == LZ4:
        body = number(len(content)) + pa.compress(content, codec="lz4_raw", asbytes=True)
    checksum = xxh3_64_intdigest(body) & 0xFFFFFFFF ^ (packing * 0x6B9083D9 & 0xFFFFFFFF)
    return body + bytes([packing]) + struct.pack("<I", checksum)


def content_of(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the content of a block, in which keys share what they begin with."""
    out: bytes = b""
    last: bytes = b""
    for key, value in pairs:
        shared = 0
        while shared < min(len(key), len(last)) and key[shared] == last[shared]:
            shared += 1
        sizes = number(shared) + number(len(key) - shared) + number(len(value))
        out, last = out + sizes + key[shared:] + value, key
    return out + struct.pack("<II", 0, 1)


def entry(key: bytes, sequence: int, kind: int = PUT, *, value: bytes = b"") -> tuple[bytes, bytes]:
    """Return one entry."""
    return key + struct.pack("<Q", sequence << 8 | kind), value


def sst(
    blocks: Sequence[Sequence[tuple[bytes, bytes]]],
    *,
    packing: int = LZ4,
    ranges: int = 0,
    version: int = 5,
    handles: Sequence[tuple[int, int]] | None = None,
) -> bytes:
    """Return a data file; `handles` are other places of its blocks than the true ones."""
    out, places = bytearray(), []
    for each in blocks:
        raw = block(content_of(each), packing)
        places.append((len(out), len(raw) - 5))
        out.extend(raw)

    def add(content: bytes) -> bytes:
        raw = block(content)
        place = number(len(out)) + number(len(raw) - 5)
        out.extend(raw)
        return place

    properties = add(content_of([(b"rocksdb.num.range-deletions", number(ranges))]))
    shown = places if handles is None else handles
    values = (number(0) + number(1) + b"x" + number(at) + number(size) for at, size in shown)
    index = add(b"".join(values) + struct.pack("<II", 0, 1))
    meta = add(content_of([(b"rocksdb.properties", properties)]))
    footer = b"\4" + (meta + index).ljust(40, b"\0") + struct.pack("<I", version) + MAGIC
    return bytes(out) + footer
