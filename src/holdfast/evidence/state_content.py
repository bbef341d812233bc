"""Looks into the state files that the next start loads, and says which of them are damaged.

Always: what each RocksDB snapshot needs (`SSTs/…`) is there in its right size, one small file per
store. When rows are to be counted: every file that is loaded is read whole, and its checksum, where
Spark wrote one, is compared. A whole file that is damaged is passed over for an older one, as Spark
does it, until the rest can be read or a file of changes is found that cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from holdfast.checkpoint.checksums import parse_spark_checksum
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state import BrokenChain, Chain, NotCounted, Store, count_rows
from holdfast.checkpoint.state.files import CHECKSUM_SUFFIX, StateFileKind
from holdfast.checkpoint.state.rows import read_rocks_snapshot
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.evidence.state import find_store_chain
from holdfast.storage.read import Reader

LOOKERS = 16
LARGEST_CHECKED = 16 << 20
"""A checksum of a larger file is not compared: it takes about a second for 10 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreContent:
    """One store, looked into."""

    operator_id: int
    store: Store
    chain: Chain | BrokenChain
    """What is left to load after damaged whole files are passed over."""
    damaged: tuple[Unparsed, ...]
    rows: int | NotCounted | None
    """None when they were not asked for, or there is nothing that can be loaded."""


def look_into_state(
    reader: Reader, checkpoint: Checkpoint, version: int, *, rows: bool
) -> tuple[StoreContent, ...]:
    """Look into every store at the version that the next start loads."""

    def look(place: tuple[int, Store]) -> StoreContent:
        return _look_into_store(reader, checkpoint, place, version=version, rows=rows)

    places = [(each.operator_id, store) for each in checkpoint.state for store in each.stores]
    with ThreadPoolExecutor(LOOKERS) as pool:
        return tuple(pool.map(look, places))


def _look_into_store(
    reader: Reader,
    checkpoint: Checkpoint,
    place: tuple[int, Store],
    *,
    version: int,
    rows: bool,
) -> StoreContent:
    operator_id, store = place
    operator = next(each for each in checkpoint.state if each.operator_id == operator_id)
    damaged: dict[str, Unparsed] = {}
    counted: int | NotCounted | None = None
    while True:
        chain = find_store_chain(checkpoint, operator, store, version=version, damaged=damaged)
        found = None
        if isinstance(chain, Chain):
            found = next(_find_damage(reader, store, chain, deeply=rows), None)
        if isinstance(chain, Chain) and found is None and rows:
            answer = count_rows(reader, store.directory, chain)
            found = answer if isinstance(answer, Unparsed) else None
            counted = None if isinstance(answer, Unparsed) else answer
        if found is not None:
            damaged[found.path] = found
        if found is None or not found.path.endswith((".zip", ".snapshot")):
            break
    return StoreContent(
        operator_id=operator_id,
        store=store,
        chain=chain,
        damaged=tuple(damaged.values()),
        rows=counted,
    )


def _find_damage(reader: Reader, store: Store, chain: Chain, *, deeply: bool) -> Iterator[Unparsed]:
    if deeply and store.checksums:
        for file in chain.files:
            yield from _compare_checksum(reader, f"{store.directory}/{file.name}", file.size_bytes)
    if chain.base is not None and chain.base.kind is StateFileKind.ZIP:
        yield from _check_snapshot(reader, store, f"{store.directory}/{chain.base.name}")


def _check_snapshot(reader: Reader, store: Store, path: str) -> Iterator[Unparsed]:
    snapshot = read_rocks_snapshot(reader, path)
    if isinstance(snapshot, Unparsed):
        yield snapshot
        return
    for file in snapshot.data_files:
        size = store.data_files.get(file.name)
        if size is None:
            yield Unparsed(path=path, reason=f"it needs {file.name}, which is not there")
        elif size != file.size_bytes:
            reason = f"it needs {file.name} with {file.size_bytes:,} bytes, not {size:,}"
            yield Unparsed(path=path, reason=reason)


def _compare_checksum(reader: Reader, path: str, size_bytes: int) -> Iterator[Unparsed]:
    raw = read_whole(reader, path + CHECKSUM_SUFFIX)
    if raw is None:
        return
    checksum = raw if isinstance(raw, Unparsed) else parse_spark_checksum(path, raw)
    if isinstance(checksum, Unparsed):
        yield Unparsed(path=path, reason=f"its checksum file: {checksum.reason}")
    elif checksum.size_bytes != size_bytes:
        reason = f"it has {size_bytes:,} bytes, its checksum is for {checksum.size_bytes:,}"
        yield Unparsed(path=path, reason=reason)
    elif size_bytes <= LARGEST_CHECKED:
        content = read_whole(reader, path)
        if isinstance(content, bytes) and checksum.fits(content) is False:
            yield Unparsed(path=path, reason="it does not fit the checksum that Spark wrote")
