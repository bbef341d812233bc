"""RocksDB's data files, `SSTs/<n>-<uuid>.sst`: sorted keys and values in blocks.

From RocksDB `table/format.cc`, `block_based/block_builder.cc` and `db/dbformat.h`, format versions
2 to 5; Spark pins 5 (`stateStore.rocksdb.formatVersion`). Numbers are little-endian, `v` is a
number in base 128:

    file     data blocks · other blocks · index block · footer
    block    content · 1 byte compression · 4 bytes checksum
    content  (v shared · v rest · v value size · rest of key · value)* · restarts · int32 count
    index    the same; a value is v offset · v size of a data block. From version 4 on it has no
             value size, and a key that shares bytes has only the difference of the size
    footer   1 byte checksum kind · v offset · v size, of metaindex and of index · padding ·
             int32 version · magic: 53 bytes
    key      as Spark wrote it · 8 bytes: sequence number * 256 + kind (0 removed, 1 put, 2 merge)

Of the same key in several files the highest sequence number counts.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.state.codecs import LARGEST_BLOCK, decompress, decompress_lz4
from holdfast.storage.read import Reader

_FOOTER = 53
_MAGIC = bytes.fromhex("f7cff485b741e288")
_VERSIONS = range(2, 6)
_DELTA_INDEX = 4
_TRAILER = 5
_READ_BYTES = 4 << 20
_XXH3, _LAST_BYTE = 4, 0x6B9083D9
_STORED, _SNAPPY, _LZ4S = 0, 1, (4, 5)
_REMOVED, _PUT, _MERGE, _REMOVED_ONCE = 0, 1, 2, 7
_PROPERTIES = b"rocksdb.properties"
_RANGES = b"rocksdb.num.range-deletions"


class Entry(NamedTuple):
    """One key of one file; sorted as they count, the newest first."""

    key: bytes
    age: int
    """The sequence number, negative: what is newer comes first."""
    kind: int
    value: bytes

    @property
    def is_there(self) -> bool:
        """Whether the key is there afterwards."""
        return self.kind in (_PUT, _MERGE)

    @property
    def whole_value(self) -> bytes | None:
        """The value; None where it only adds to an older one."""
        return self.value if self.kind == _PUT else None


class _Handle(NamedTuple):
    offset: int
    size: int


def merge_entries(files: Sequence[Iterator[Entry]]) -> Iterator[Entry]:
    """Yield the keys that are there, from all files of a snapshot, each once."""
    for _, same in groupby(heapq.merge(*files), key=itemgetter(0)):
        newest = next(same)
        if newest.is_there:
            yield newest


def read_sst(reader: Reader, path: str, size_bytes: int) -> Iterator[Entry]:
    """Yield the entries of a data file, by key and the newest of each key first.

    Raises:
        BrokenBytesError: The file is not one, or has what is not read here.
        ReadError: The store did not let us read it.
        MissingExtraError: pyarrow is not installed.
    """
    footer = _take(reader, path, _Handle(max(size_bytes - _FOOTER, 0), _FOOTER))
    if footer[-8:] != _MAGIC:
        raise BrokenBytesError("it does not end as a data file of RocksDB does")
    (version,) = struct.unpack("<I", footer[-12:-8])
    if version not in _VERSIONS:
        raise BrokenBytesError(f"it has format version {version} of RocksDB, which is not read")
    meta, at = _read_handle(footer, 1)
    index, _ = _read_handle(footer, at)
    kind = footer[0]
    _refuse_ranges(reader, path, meta, kind=kind)
    content = _unpack(_take(reader, path, _with_trailer(index)), kind)
    handles = list(_read_index(content, is_delta=version >= _DELTA_INDEX))
    for block in _read_blocks(reader, path, handles):
        yield from _read_entries(_unpack(block, kind))


def _refuse_ranges(reader: Reader, path: str, meta: _Handle, *, kind: int) -> None:
    """Refuse a file that removes ranges of keys."""
    blocks = dict(_pairs(_unpack(_take(reader, path, _with_trailer(meta)), kind)))
    if _PROPERTIES not in blocks:
        raise BrokenBytesError("it has no properties")
    place, _ = _read_handle(blocks[_PROPERTIES], 0)
    properties = dict(_pairs(_unpack(_take(reader, path, _with_trailer(place)), kind)))
    if properties.get(b"rocksdb.block.based.table.index.type", bytes(4))[:1] == b"\2":
        raise BrokenBytesError("its index has two levels, which is not read")
    ranges = properties.get(_RANGES, b"\0")
    if _read_number(ranges, 0)[0]:
        raise BrokenBytesError("it removes ranges of keys, which is not followed here")


def _with_trailer(handle: _Handle) -> _Handle:
    return _Handle(handle.offset, handle.size + _TRAILER)


def _take(reader: Reader, path: str, part: _Handle) -> bytes:
    if part.size > LARGEST_BLOCK:
        raise BrokenBytesError(f"a block of {part.size} bytes makes no sense")
    raw = reader.read(path, start=part.offset, length=part.size) or b""
    if len(raw) != part.size:
        raise BrokenBytesError("it is shorter than it says")
    return raw


def _read_blocks(reader: Reader, path: str, handles: list[_Handle]) -> Iterator[bytes]:
    """Yield data blocks with their trailers; neighbours are read together."""
    group: list[_Handle] = []
    for handle in [*handles, None]:
        if handle is not None and (not group or _follows(group, handle)):
            group.append(handle)
            continue
        if group:
            first, end = group[0].offset, group[-1].offset + group[-1].size + _TRAILER
            raw = memoryview(_take(reader, path, _Handle(first, end - first)))
            for each in group:
                at = each.offset - first
                yield bytes(raw[at : at + each.size + _TRAILER])
        group = [] if handle is None else [handle]


def _follows(group: list[_Handle], handle: _Handle) -> bool:
    last = group[-1].offset + group[-1].size + _TRAILER
    return handle.offset == last and last + handle.size - group[0].offset <= _READ_BYTES


def _unpack(block: bytes, kind: int) -> bytes:
    """Return the content of a block that has its trailer."""
    body, packing = block[:-_TRAILER], block[-_TRAILER]
    if kind == _XXH3:
        from xxhash import xxh3_64_intdigest  # noqa: PLC0415 - loaded when state is opened

        (checksum,) = struct.unpack("<I", block[-4:])
        if xxh3_64_intdigest(body) & 0xFFFFFFFF ^ (packing * _LAST_BYTE & 0xFFFFFFFF) != checksum:
            raise BrokenBytesError("a block does not fit its checksum")
    if packing == _STORED:
        return body
    length, at = _read_number(body, 0)
    if not 0 < length <= LARGEST_BLOCK:
        raise BrokenBytesError(f"a block of {length} bytes makes no sense")
    if packing in _LZ4S:
        return decompress_lz4(body[at:], length)
    if packing == _SNAPPY:
        return decompress("snappy", body, length)
    raise BrokenBytesError(f"a block has compression {packing}, which is not read")


def _read_number(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number in base 128, and where it ends."""
    number = 0
    for place in range(0, 70, 7):
        if at >= len(raw):
            break
        byte, at = raw[at], at + 1
        number |= (byte & 0x7F) << place
        if byte < 0x80:
            return number, at
    raise BrokenBytesError("a number in it does not end")


def _read_handle(raw: bytes, at: int) -> tuple[_Handle, int]:
    offset, at = _read_number(raw, at)
    size, at = _read_number(raw, at)
    return _Handle(offset, size), at


def _end_of(content: bytes) -> int:
    """Return where the entries of a block end and its restart points begin."""
    if len(content) < 4:
        raise BrokenBytesError("a block is too short")
    (count,) = struct.unpack("<I", content[-4:])
    if count >> 31:
        raise BrokenBytesError("a block has an index of hashes, which is not read")
    end = len(content) - 4 - 4 * int(count)
    if end < 0:
        raise BrokenBytesError("a block is shorter than it says")
    return end


def _pairs(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block."""
    at, end, key = 0, _end_of(content), b""
    while at < end:
        shared, at = _read_number(content, at)
        rest, at = _read_number(content, at)
        size, at = _read_number(content, at)
        if shared > len(key) or at + rest + size > end:
            raise BrokenBytesError("an entry of a block does not fit into it")
        key = key[:shared] + content[at : at + rest]
        at += rest
        yield key, content[at : at + size]
        at += size


def _read_entries(content: bytes) -> Iterator[Entry]:
    for key, value in _pairs(content):
        if len(key) < 8:
            raise BrokenBytesError("a key has no sequence number")
        (mark,) = struct.unpack_from("<Q", key, len(key) - 8)
        kind = mark & 0xFF
        if kind not in (_REMOVED, _PUT, _MERGE, _REMOVED_ONCE):
            raise BrokenBytesError(f"an entry of kind {kind:#04x} is not read")
        yield Entry(key[:-8], -(mark >> 8), kind, value)


def _read_index(content: bytes, *, is_delta: bool) -> Iterator[_Handle]:
    """Yield where the data blocks are."""
    if not is_delta:
        yield from (_read_handle(value, 0)[0] for _, value in _pairs(content))
        return
    at, end, last = 0, _end_of(content), _Handle(0, 0)
    while at < end:
        shared, at = _read_number(content, at)
        rest, at = _read_number(content, at)
        at += rest
        if shared:
            change, at = _read_number(content, at)
            size = last.size + (change >> 1 ^ -(change & 1))
            last = _Handle(last.offset + last.size + _TRAILER, max(size, 0))
        else:
            last, at = _read_handle(content, at)
        yield last
