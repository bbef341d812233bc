"""Records inside a state file: which keys it sets and which it removes.

Delta and snapshot, from Spark 4.3 `state/HDFSBackedStateStoreProvider.scala`, after unpacking:

    (int32 key size · key · int32 value size, or -1 for removed · value)* · int32 -1

Changelog, from `state/StateStoreChangelog.scala`; no header means version 1:

    v1   as a delta                  v3   utf "v3" · utf lineage · as v1
    v2   utf "v2" · records · 00     v4   utf "v4" · utf lineage · as v2

    record: 01 put and 11 merge: int32 size · key · int32 size · value
            10 delete: int32 size · key · int32 -1
            20 delete range: int32 size · first key · int32 size · end key

Lineage is JSON, [{"version":4,"checkpointUniqueId":"…"}…], back to the last snapshot.
Values are passed over unless they are asked for. What follows the end mark is not read, by Spark
neither: a file that lost its last bytes is still whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.checkpoint.binary import BrokenBytesError, ByteSource
from holdfast.checkpoint.state.codecs import CountedChunks, unpack
from holdfast.checkpoint.state.files import StateFileKind

_FREE_CHANGES = 200_000
_MOST_PER_BYTE = 1
"""Changes of distinct keys need more than a byte each, however well they are packed."""
_HEADERS = {b"\x00\x02v2": 2, b"\x00\x02v3": 3, b"\x00\x02v4": 4}
_WITH_LINEAGE = 3
_END, _PUT, _DELETE, _MERGE, _DELETE_RANGE = 0x00, 0x01, 0x10, 0x11, 0x20


class _Ancestor(msgspec.Struct):
    version: int


_LINEAGE = msgspec.json.Decoder(tuple[_Ancestor, ...])


class TooManyChangesError(Exception):
    """A file holds far more changes than one of its size can mean: reading on could take hours."""


class Put(msgspec.Struct, frozen=True):
    """A key that is there afterwards."""

    key: bytes
    value: bytes | None = None
    """None when values were not asked for, or the record only adds to the value before it."""


class Removed(msgspec.Struct, frozen=True):
    """A key that is gone afterwards."""

    key: bytes


class RangeRemoved(msgspec.Struct, frozen=True):
    """Every key from `first` up to, not including, `end` is gone afterwards."""

    first: bytes
    end: bytes


Change = Put | Removed | RangeRemoved


def read_changes(
    kind: StateFileKind, chunks: Iterator[bytes], *, values: bool = False
) -> Iterator[Change]:
    """Yield the changes of a delta, snapshot or changelog, in order and in constant memory.

    Args:
        kind: Of the file.
        chunks: Its bytes.
        values: Whether the values are wanted too.

    Raises:
        BrokenBytesError: The file is not one.
        TooManyChangesError: A small file holds so many that they cannot be meant.
        MissingExtraError: pyarrow is not installed.
    """
    packed = CountedChunks(chunks)
    source = ByteSource(unpack(packed))
    is_log = kind is StateFileKind.CHANGELOG
    if is_log:
        changes = _read_changelog(source, values=values)
    else:
        changes = _read_pairs(source, source.int32(), values=values)
    for number, change in enumerate(changes):
        if number > _FREE_CHANGES + _MOST_PER_BYTE * packed.bytes_read:
            raise TooManyChangesError(f"{packed.bytes_read:,} bytes hold more than {number:,} rows")
        yield change


def read_lineage(chunks: Iterator[bytes]) -> tuple[int, ...]:
    """Return the versions that a changelog of state format 2 builds on, back to a snapshot.

    Raises:
        BrokenBytesError: It is not one, or has no lineage.
        MissingExtraError: pyarrow is not installed.
    """
    source = ByteSource(unpack(chunks))
    if _HEADERS.get(source.take(4), 1) < _WITH_LINEAGE:
        raise BrokenBytesError("it does not say which versions it builds on")
    try:
        lineage = _LINEAGE.decode(source.utf())
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise BrokenBytesError("it does not say which versions it builds on") from error
    return tuple(each.version for each in lineage)


def _read_changelog(source: ByteSource, *, values: bool) -> Iterator[Change]:
    first = source.take(4)
    version = _HEADERS.get(first, 1)
    if version >= _WITH_LINEAGE:
        source.utf()
    if version == 1:
        yield from _read_pairs(source, int.from_bytes(first, "big", signed=True), values=values)
    elif version == 3:
        yield from _read_pairs(source, source.int32(), values=values)
    else:
        yield from _read_typed(source, values=values)


def _read_pairs(source: ByteSource, key_size: int, *, values: bool) -> Iterator[Change]:
    while key_size != -1:
        key = source.take(key_size)
        value_size = source.int32()
        if value_size == -1:
            yield Removed(key)
        elif value_size < 0:
            raise BrokenBytesError(f"a value of {value_size} bytes makes no sense")
        elif values:
            yield Put(key, source.take(value_size))
        else:
            source.skip(value_size)
            yield Put(key)
        key_size = source.int32()


def _read_typed(source: ByteSource, *, values: bool) -> Iterator[Change]:
    while (kind := source.take(1)[0]) != _END:
        key = source.take(source.int32())
        size = source.int32()
        if kind == _PUT and values:
            yield Put(key, source.take(size))
        elif kind in (_PUT, _MERGE) and size >= 0:
            source.skip(size)
            yield Put(key)
        elif kind == _DELETE and size == -1:
            yield Removed(key)
        elif kind == _DELETE_RANGE:
            yield RangeRemoved(key, source.take(size))
        else:
            raise BrokenBytesError(f"a record of kind {kind:#04x} makes no sense")
