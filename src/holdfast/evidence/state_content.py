"""Looks into the state files that the next start loads, and says which of them are damaged.

Always: what each RocksDB snapshot needs (`SSTs/…`) is there in its right size, one small file per
store. When rows are to be counted: every file that is loaded is read whole, and compared with its
checksums where there are some. A whole file that is damaged is passed over for an older one, as
Spark does it, until the rest can be read or a file of changes is found that cannot.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state import BrokenChain, Chain, NotCounted, Store, count_rows
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.state import find_store_chain
from holdfast.evidence.state_checks import find_damage
from holdfast.storage.read import Reader

LOOKERS = 16


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
            found = next(find_damage(reader, store, chain, deeply=rows), None)
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
