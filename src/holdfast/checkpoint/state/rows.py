"""How many rows a version of a store has, counted from its files.

Spark's HDFS-backed stores are counted exactly: the keys of the changes are remembered, the
snapshot below them only streamed past. Of RocksDB a zip says how many keys it has; changes above a
zip cannot be counted without opening RocksDB's data, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.state.chain import Chain
from holdfast.checkpoint.state.files import StateFileKind
from holdfast.checkpoint.state.records import Change, Put, RangeRemoved, Removed, read_changes
from holdfast.checkpoint.state.rocksdb import LARGEST_ZIP, RocksSnapshot, parse_rocks_snapshot
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import MissingExtraError, ReadError
from holdfast.storage.read import Reader, read_chunks

_LONGEST_KEY = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCounted:
    """Rows that the files do not tell."""

    why: str


def count_rows(reader: Reader, directory: str, chain: Chain) -> int | NotCounted | Unparsed:
    """Count the rows of a version by reading its files."""
    at = ""
    try:
        base = chain.base
        if base is not None and base.kind is StateFileKind.ZIP:
            return _count_zip(reader, f"{directory}/{base.name}", chain)
        kept: dict[bytes, bool] = {}
        for file in chain.changes:
            at = f"{directory}/{file.name}"
            _apply(read_changes(file.kind, read_chunks(reader, at)), kept)
        rows = sum(kept.values())
        if base is not None:
            at = f"{directory}/{base.name}"
            changes = read_changes(base.kind, read_chunks(reader, at))
            rows += sum(isinstance(each, Put) and _short(each.key) not in kept for each in changes)
    except BrokenBytesError as error:
        return Unparsed(path=at, reason=str(error))
    except ReadError as error:
        return Unparsed(path=at, reason=f"it could not be read: {error.why}", unread=True)
    except MissingExtraError as error:
        return NotCounted(why=f"{error.why} {error.how}")
    return rows


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


def _apply(changes: Iterator[Change], kept: dict[bytes, bool]) -> None:
    for change in changes:
        match change:
            case Put(key):
                kept[_short(key)] = True
            case Removed(key):
                kept[_short(key)] = False
            case RangeRemoved():
                raise BrokenBytesError("it removes a range of keys, which is not counted here")


def _short(key: bytes) -> bytes:
    """Return a key, or what stands for a long one: a batch can change millions."""
    return key if len(key) <= _LONGEST_KEY else blake2b(key, digest_size=16).digest()
