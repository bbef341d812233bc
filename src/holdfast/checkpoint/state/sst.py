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
from collections.abc import Iterable, Iterator, Sequence
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

    @property
    def end(self) -> int:
        """Where it ends, with its trailer."""
        return self.offset + self.size + _TRAILER


class _File(NamedTuple):
    reader: Reader
    path: str
    size: int

    def take(self, offset: int, length: int) -> bytes:
        """Return a part of the file that must be there.

        Raises:
            BrokenBytesError: It lies outside of the file, or is absurdly large.
        """
        if length > LARGEST_BLOCK:
            raise BrokenBytesError(f"a block of {length} bytes makes no sense")
        # A damaged offset can be larger than any that a file system takes.
        if not 0 <= offset <= offset + length <= self.size:
            raise BrokenBytesError("a block lies outside of the file")
        raw = self.reader.read(self.path, start=offset, length=length) or b""
        if len(raw) != length:
            raise BrokenBytesError("it is shorter than it says")
        return raw

    def take_block(self, handle: _Handle, kind: int) -> bytes:
        """Return the content of a block."""
        return _unpack(self.take(handle.offset, handle.size + _TRAILER), kind)


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
    file = _File(reader, path, size_bytes)
    footer = file.take(size_bytes - _FOOTER, _FOOTER)
    if footer[-8:] != _MAGIC:
        raise BrokenBytesError("it does not end as a data file of RocksDB does")
    (version,) = struct.unpack("<I", footer[-12:-8])
    if version not in _VERSIONS:
        raise BrokenBytesError(f"it has format version {version} of RocksDB, which is not read")
    meta, at = _read_handle(footer, 1)
    index, _ = _read_handle(footer, at)
    kind = footer[0]
    _refuse_ranges(file, meta, kind)
    handles = _read_index(file.take_block(index, kind), is_delta=version >= _DELTA_INDEX)
    for block in _read_blocks(file, handles):
        yield from _read_entries(_unpack(block, kind))


def _refuse_ranges(file: _File, meta: _Handle, kind: int) -> None:
    """Refuse a file that removes ranges of keys."""
    blocks = dict(_pairs(file.take_block(meta, kind)))
    if _PROPERTIES not in blocks:
        raise BrokenBytesError("it has no properties")
    place, _ = _read_handle(blocks[_PROPERTIES], 0)
    properties = dict(_pairs(file.take_block(place, kind)))
    if properties.get(b"rocksdb.block.based.table.index.type", bytes(4))[:1] == b"\2":
        raise BrokenBytesError("its index has two levels, which is not read")
    ranges = properties.get(_RANGES, b"\0")
    if _read_number(ranges, 0)[0]:
        raise BrokenBytesError("it removes ranges of keys, which is not followed here")


def _read_blocks(file: _File, handles: Iterable[_Handle]) -> Iterator[bytes]:
    """Yield data blocks with their trailers; neighbours are read together."""
    group: list[_Handle] = []
    for handle in handles:
        if group and handle.offset < group[-1].end:
            raise BrokenBytesError("its blocks lie over each other")
        if group and (handle.offset > group[-1].end or handle.end - group[0].offset > _READ_BYTES):
            yield from _read_group(file, group)
            group = []
        group.append(handle)
    if group:
        yield from _read_group(file, group)


def _read_group(file: _File, group: Sequence[_Handle]) -> Iterator[bytes]:
    first = group[0].offset
    raw = file.take(first, group[-1].end - first)
    for each in group:
        yield raw[each.offset - first : each.end - first]


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
    if packing not in (_SNAPPY, *_LZ4S):
        raise BrokenBytesError(f"a block has compression {packing}, which is not read")
    length, at = _read_number(body, 0)
    if not 0 < length <= LARGEST_BLOCK:
        raise BrokenBytesError(f"a block of {length} bytes makes no sense")
    if packing == _SNAPPY:
        return decompress("snappy", body, length)
    return decompress_lz4(body[at:], length)


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
        # Almost always all three are below 128; behind the end there are at least 4 bytes.
        shared, rest, size = content[at : at + 3]
        if (shared | rest | size) < 0x80:
            at += 3
        else:
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
