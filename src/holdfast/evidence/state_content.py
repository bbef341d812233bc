"""Looks into the state files that the next start loads, and says which of them are damaged.

Always: what each RocksDB snapshot needs (`SSTs/…`) is there in its right size, one small file per
store. When rows are to be counted: every file that is loaded is read whole, and compared with its
checksums where there are some. A whole file that is damaged is passed over for an older one, as
Spark does it, until the rest can be read or a file of changes is found that cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state import (
    BrokenChain,
    Chain,
    NotCounted,
    StateFile,
    Store,
    count_rows,
    find_chain,
)
from holdfast.checkpoint.state.rocksdb import RocksSnapshot
from holdfast.checkpoint.state.rows import read_rocks_snapshot
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.state import Looked, loaded_stores, unique_ids
from holdfast.evidence.state_checks import NO_MATCH, Verified, find_damage, verify_files
from holdfast.storage.read import Reader, answers_at_once

WORKERS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContent:
    """One store, looked into."""

    operator_id: int
    store: Store
    chain: Chain | BrokenChain
    """What is left to load after damaged whole files are passed over."""
    damaged: tuple[Unparsed, ...]
    """What cannot be used; of those that could not be read, `unread` is set."""
    rows: int | NotCounted | None
    """None when they were not asked for, or there is nothing that can be loaded."""
    by_4_0: str | None = None
    """Path of a snapshot that only Spark 4.0 writes and reads; None when there is none."""
    verified: Verified = field(default_factory=Verified)
    """What Hadoop's checksums say of the files that are loaded; nothing if they were not read."""


def look_into_state(
    reader: Reader, checkpoint: Checkpoint, version: int, *, rows: bool, verify: bool = False
) -> tuple[StoreContent, ...]:
    """Look into every store at the version that the next start loads.

    Args:
        reader: Of the checkpoint.
        checkpoint: As read.
        version: The state version that is loaded.
        rows: Whether the files are read and their rows counted.
        verify: Whether files that are read are compared with Hadoop's checksums beside them.
    """
    places = [
        _Look(operator.operator_id, store, version, ids.get((store.partition, store.name)))
        for operator in checkpoint.state
        for ids in (unique_ids(checkpoint, operator),)
        for store in loaded_stores(checkpoint, operator)
    ]
    if not places or (not rows and answers_at_once(reader)):
        return tuple(_look_into_store(reader, look, rows=False) for look in places)
    with ThreadPoolExecutor(WORKERS) as pool:
        found = pool.map(lambda look: _look_into_store(reader, look, rows=rows), places)
        if not rows or not verify:
            return tuple(found)
        return tuple(pool.map(lambda each: _verified(reader, each), found))


def seen_by(stores: tuple[StoreContent, ...]) -> Looked:
    """Return what looking has shown, as predictions take it."""
    found = [each for store in stores for each in store.damaged]
    return Looked(
        damaged=frozenset(each.path for each in found if not each.unread),
        unread=frozenset(each.path for each in found if each.unread),
        unverified=frozenset(
            each.path
            for each in found
            if each.spark_says == NO_MATCH and each.path.endswith(".zip")
        ),
        by_4_0=tuple(store.by_4_0 for store in stores if store.by_4_0),
    )


class _Look(NamedTuple):
    operator_id: int
    store: Store
    version: int
    ids: Mapping[int, str] | None


def _look_into_store(reader: Reader, look: _Look, *, rows: bool) -> StoreContent:
    damaged: dict[str, Unparsed] = {}
    while True:
        usable = [file for file in look.store.files if not _is_passed_over(look, file, damaged)]
        chain = find_chain(usable, look.version, look.ids)
        found, counted = _look_at(reader, look.store, chain, rows=rows)
        if found is not None:
            damaged[found.path] = found
        is_last = found is None or found.unread or not found.path.endswith((".zip", ".snapshot"))
        if is_last:
            return StoreContent(
                operator_id=look.operator_id,
                store=look.store,
                chain=chain,
                damaged=tuple(damaged.values()),
                rows=counted,
                by_4_0=_find_by_4_0(reader, look.store, chain),
            )


def _verified(reader: Reader, found: StoreContent) -> StoreContent:
    if isinstance(found.chain, BrokenChain):
        return found
    return replace(found, verified=verify_files(reader, found.store, found.chain))


def _find_by_4_0(reader: Reader, store: Store, chain: Chain | BrokenChain) -> str | None:
    """Return a snapshot of state format 2 by Spark 4.0, which wrote no checksums of its own."""
    base = chain.base if isinstance(chain, Chain) else None
    if base is None or base.unique_id is None or store.checksums:
        return None
    path = f"{store.directory}/{base.name}"
    snapshot = read_rocks_snapshot(reader, path)
    return path if isinstance(snapshot, RocksSnapshot) and snapshot.version == 2 else None


def _is_passed_over(look: _Look, file: StateFile, damaged: Mapping[str, Unparsed]) -> bool:
    path = f"{look.store.directory}/{file.name}"
    return file.kind.is_whole and (file.size_bytes == 0 or path in damaged)


def _look_at(
    reader: Reader, store: Store, chain: Chain | BrokenChain, *, rows: bool
) -> tuple[Unparsed | None, int | NotCounted | None]:
    """Return the first thing that is wrong with what is loaded, or how many rows it has."""
    if isinstance(chain, BrokenChain):
        return None, None
    found = next(find_damage(reader, store, chain, deeply=rows), None)
    if found is not None or not rows:
        return found, None
    answer = count_rows(reader, store.directory, chain)
    return (answer, None) if isinstance(answer, Unparsed) else (None, answer)
