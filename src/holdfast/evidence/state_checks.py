"""Checks of state files against what stands beside them; each yields what is damaged, and why."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.checksums import (
    is_sidecar,
    is_stale,
    parse_sidecar,
    parse_spark_checksum,
    sidecar_of,
)
from holdfast.checkpoint.state import Chain, Store
from holdfast.checkpoint.state.files import CHECKSUM_SUFFIX, StateFile, StateFileKind
from holdfast.checkpoint.state.records import read_lineage
from holdfast.checkpoint.state.rocksdb import RocksSnapshot
from holdfast.checkpoint.state.rows import read_rocks_snapshot
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.errors import MissingExtraError, ReadError
from holdfast.storage.read import Reader, read_chunks

LARGEST_CHECKED = 16 << 20
"""Spark's checksum of a larger file is not compared: it takes about a second for 10 MB."""
NO_MATCH = "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"
"""In the error when a file does not fit Spark's own checksum."""
_TABLE_END = bytes.fromhex("f7cff485b741e288")
"""How a table of RocksDB ends."""


def find_damage(reader: Reader, store: Store, chain: Chain, *, deeply: bool) -> Iterator[Unparsed]:
    """Yield what is damaged among the files that make up a version of a store.

    Args:
        reader: Of the checkpoint.
        store: The store.
        chain: The files.
        deeply: Whether whole files are read for it.
    """
    if chain.base is None and chain.changes and chain.changes[-1].unique_id is not None:
        yield from _check_lineage(reader, store, chain.changes[-1])
    if chain.base is not None and chain.base.kind is StateFileKind.ZIP:
        path = f"{store.directory}/{chain.base.name}"
        yield from _compare_sidecar(reader, path, blamed=path)
        yield from _check_snapshot(reader, store, path, deeply=deeply)
    if deeply and store.checksums:
        # The snapshot's last: what is found by nothing else, not every version of Spark compares.
        for file in reversed(chain.files):
            yield from _compare_checksum(reader, store, file)


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What Hadoop's checksums say of the files that make up a version of a store."""

    changed: tuple[str, ...] = ()
    """Paths of files that do not fit their checksum."""
    without: tuple[str, ...] = ()
    """Paths of files without a usable checksum."""


def verify_files(reader: Reader, store: Store, chain: Chain) -> Verified:
    """Compare every file that is loaded with Hadoop's checksums, which are on local disk only."""
    if not reader.location.kind.has_checksum_files:
        return Verified()
    changed, without = [], []
    for path in _loaded_files(reader, store, chain):
        sidecar = sidecar_of(path)
        raw = read_whole(reader, sidecar)
        if not is_sidecar(sidecar, raw):
            without.append(path)
        elif is_stale(sidecar, raw, read_whole(reader, path), parse=partial(_parse_loaded, path)):
            changed.append(path)
    return Verified(changed=tuple(changed), without=tuple(without))


def _parse_loaded(path: str, raw: bytes) -> object:
    """Return what Spark takes from a file: nothing behind the end mark of a delta or a snapshot."""
    return None if path.endswith((".delta", ".snapshot")) else raw


def _loaded_files(reader: Reader, store: Store, chain: Chain) -> Iterator[str]:
    for file in chain.files:
        path = f"{store.directory}/{file.name}"
        yield path
        snapshot = read_rocks_snapshot(reader, path) if file.kind is StateFileKind.ZIP else None
        if isinstance(snapshot, RocksSnapshot):
            yield from (f"{store.directory}/{each.name}" for each in snapshot.data_files)


def _check_lineage(reader: Reader, store: Store, newest: StateFile) -> Iterator[Unparsed]:
    """Check that a version without a snapshot goes back to the first, not to one that is gone."""
    path = f"{store.directory}/{newest.name}"
    try:
        lineage = read_lineage(read_chunks(reader, path))
    except BrokenBytesError as error:
        yield Unparsed(path=path, reason=str(error))
        return
    except ReadError as error:
        yield Unparsed(path=path, reason=f"it could not be read: {error.why}", unread=True)
        return
    except MissingExtraError:
        return
    wholes = {file.version for file in store.files if file.kind.is_whole}
    if lineage and lineage[0] > 1 and lineage[0] not in wholes:
        yield Unparsed(path=path, reason=f"the snapshot it builds on, {lineage[0]}, is missing")


def _compare_checksum(reader: Reader, store: Store, file: StateFile) -> Iterator[Unparsed]:
    path, size_bytes = f"{store.directory}/{file.name}", file.size_bytes
    raw = read_whole(reader, path + CHECKSUM_SUFFIX)
    if raw is None:
        return
    checksum = raw if isinstance(raw, Unparsed) else parse_spark_checksum(path, raw)
    if isinstance(checksum, Unparsed):
        reason = f"its checksum file: {checksum.reason}"
        yield Unparsed(path=path, reason=reason, unread=checksum.unread, spark_says=NO_MATCH)
    elif checksum.size_bytes != size_bytes:
        reason = f"it has {size_bytes:,} bytes, its checksum is for {checksum.size_bytes:,}"
        yield Unparsed(path=path, reason=reason, spark_says=NO_MATCH)
    elif size_bytes <= LARGEST_CHECKED:
        content = read_whole(reader, path)
        if isinstance(content, bytes) and checksum.fits(content) is False:
            reason = "it does not fit the checksum that Spark wrote"
            yield Unparsed(path=path, reason=reason, spark_says=NO_MATCH)


def _compare_sidecar(reader: Reader, path: str, *, blamed: str) -> Iterator[Unparsed]:
    """Compare with Hadoop's checksums, as Spark does when it copies a file to its own disk.

    They are on local disk only, so that no bucket is asked for them.
    """
    if not reader.location.kind.has_checksum_files:
        return
    directory, _, name = path.rpartition("/")
    raw, content = read_whole(reader, f"{directory}/.{name}.crc"), read_whole(reader, path)
    if not isinstance(raw, bytes) or not isinstance(content, bytes):
        return
    sidecar = parse_sidecar(path, raw)
    if isinstance(sidecar, Unparsed) or not sidecar.fits(content):
        yield Unparsed(path=blamed, reason=f"Hadoop's checksums beside {path} do not fit it")


def _check_snapshot(reader: Reader, store: Store, path: str, *, deeply: bool) -> Iterator[Unparsed]:
    snapshot = read_rocks_snapshot(reader, path)
    if isinstance(snapshot, Unparsed):
        yield snapshot
        return
    for file in snapshot.data_files:
        size = store.data_files.get(file.name)
        if size is None:
            yield Unparsed(path=path, reason=f"it needs {file.name}, which is missing")
        elif size != file.size_bytes:
            reason = f"it needs {file.name} with {file.size_bytes:,} bytes, not {size:,}"
            yield Unparsed(path=path, reason=reason)
        elif deeply:
            yield from _check_table(reader, f"{store.directory}/{file.name}", size, blamed=path)


def _check_table(reader: Reader, path: str, size: int, *, blamed: str) -> Iterator[Unparsed]:
    """Check that a file of RocksDB's ends as its tables do, and fits its checksums."""
    try:
        end = reader.read(path, start=max(0, size - len(_TABLE_END)))
    except ReadError as error:
        reason = f"it needs {path}, which could not be read: {error.why}"
        yield Unparsed(path=blamed, reason=reason, unread=True)
        return
    if path.endswith(".sst") and end != _TABLE_END:
        yield Unparsed(path=blamed, reason=f"it needs {path}, which is no table of RocksDB")
    yield from _compare_sidecar(reader, path, blamed=blamed)
