"""How many rows a version of a store has, counted from its files.

Spark's HDFS-backed stores are counted exactly: the keys of the changes are remembered, the
snapshot below them only streamed past. Of RocksDB a zip says how many keys it has; changes above a
zip cannot be counted without opening RocksDB's data, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.state.chain import Chain
from holdfast.checkpoint.state.files import StateFileKind
from holdfast.checkpoint.state.records import (
    Change,
    Put,
    RangeRemoved,
    TooManyChangesError,
    read_changes,
)
from holdfast.checkpoint.state.rocksdb import LARGEST_ZIP, RocksSnapshot, parse_rocks_snapshot
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import MissingExtraError, ReadError
from holdfast.storage.read import Reader, read_chunks

_LONGEST_KEY = 32


class NotCounted(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that the files do not tell."""

    why: str


def count_rows(reader: Reader, directory: str, chain: Chain) -> int | NotCounted | Unparsed:
    """Count the rows of a version by reading every file of it."""
    kept: dict[bytes, bool] = {}
    is_followed = True
    for file in chain.changes:
        found = _follow(reader, f"{directory}/{file.name}", file.kind, kept=kept)
        if isinstance(found, Unparsed | NotCounted):
            return found
        is_followed &= found
    rows = sum(kept.values())
    if chain.base is not None and chain.base.kind is StateFileKind.ZIP:
        return _count_zip(reader, f"{directory}/{chain.base.name}", chain)
    if not is_followed:
        return NotCounted(why="ranges of keys were removed, which is not followed here")
    if chain.base is None:
        return rows
    below = _count_others(reader, f"{directory}/{chain.base.name}", chain.base.kind, kept=kept)
    return below if isinstance(below, Unparsed | NotCounted) else rows + below


def _follow(
    reader: Reader, path: str, kind: StateFileKind, *, kept: dict[bytes, bool]
) -> bool | NotCounted | Unparsed:
    """Follow the changes of a file; False when there are some that cannot be followed."""
    is_followed = True
    for change in changes_of(reader, path, kind):
        if isinstance(change, Unparsed | NotCounted):
            return change
        if isinstance(change, RangeRemoved):
            is_followed = False
        else:
            kept[short_key(change.key)] = isinstance(change, Put)
    return is_followed


def _count_others(
    reader: Reader, path: str, kind: StateFileKind, *, kept: dict[bytes, bool]
) -> int | NotCounted | Unparsed:
    """Count the rows of a snapshot that no later file has changed."""
    rows = 0
    for change in changes_of(reader, path, kind):
        if isinstance(change, Unparsed | NotCounted):
            return change
        rows += isinstance(change, Put) and short_key(change.key) not in kept
    return rows


def changes_of(
    reader: Reader, path: str, kind: StateFileKind, *, values: bool = False
) -> Iterator[Change | NotCounted | Unparsed]:
    """Yield the changes of a file; what stops that comes last."""
    try:
        yield from read_changes(kind, read_chunks(reader, path), values=values)
    except BrokenBytesError as error:
        if reader.stat(path) is None:
            # A running query purges what it no longer needs.
            yield Unparsed(path=path, reason="it is gone since it was listed", unread=True)
        else:
            yield Unparsed(path=path, reason=str(error))
    except ReadError as error:
        yield Unparsed(path=path, reason=f"it could not be read: {error.why}", unread=True)
    except TooManyChangesError as error:
        yield NotCounted(why=f"{path}: {error}")
    except MissingExtraError as error:
        yield NotCounted(why=f"{error.why} {error.how}")


def read_rocks_snapshot(reader: Reader, path: str) -> RocksSnapshot | Unparsed:
    """Read what a zip says of itself."""
    try:
        raw = reader.read(path, length=LARGEST_ZIP + 1)
    except ReadError as error:
        return Unparsed(path=path, reason=f"it could not be read: {error.why}", unread=True)
    if raw is None:
        return Unparsed(path=path, reason="it is gone since it was listed", unread=True)
    if len(raw) > LARGEST_ZIP:
        return Unparsed(path=path, reason=f"it is larger than {LARGEST_ZIP >> 20} MB")
    return parse_rocks_snapshot(path, raw)


def _count_zip(reader: Reader, path: str, chain: Chain) -> int | NotCounted | Unparsed:
    snapshot = read_rocks_snapshot(reader, path)
    if isinstance(snapshot, Unparsed):
        return snapshot
    if snapshot.rows is None:
        return NotCounted(why="Spark was told not to count (trackTotalNumberOfRows is off)")
    if chain.changes:
        number = len(chain.changes)
        behind = "changelog" if number == 1 else "changelogs"
        return NotCounted(why=f"{snapshot.rows:,} in {path}, and {number} {behind} above it")
    return snapshot.rows


def short_key(key: bytes) -> bytes:
    """Return a key, or what stands for a long one: a batch can change millions."""
    return key if len(key) <= _LONGEST_KEY else blake2b(key, digest_size=16).digest()
