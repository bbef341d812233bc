"""Whether the state that a batch needs is there: every file of its version, in every partition.

Batch N loads version N of every store (`state/<operator>/<partition>[/<store>]`). How many
partitions there must be is pinned in the newest offset entry; operators that bring everything to
one place, a limit or an aggregation without keys, have a single one whatever is pinned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import parse_number
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.chain import BrokenChain, Chain, find_chain, loadable_versions
from holdfast.checkpoint.state.files import StateFile, StateFileKind
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.checkpoint.state.read import DEFAULT_STORE, Operator, Store
from holdfast.checkpoint.state.schema import StateSchema

PARTITIONS = "spark.sql.shuffle.partitions"
MOST_NAMED = 1_000
"""So many missing partitions are named, and no more."""
MOST_PARTITIONS = 1_000_000
"""More than this nobody has: a number that is larger is damage, and is not counted up to."""
ROCKSDB, HDFS = "RocksDB", "HDFS-backed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """One store and the files that make up the version a start needs."""

    store: Store
    chain: Chain | BrokenChain


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """One operator, held against what the next start needs of it."""

    operator: Operator
    version: int
    """Needed in every store."""
    partitions: int | None
    """How many there must be; None when nothing says."""
    stores: tuple[StoreState, ...]
    damaged: tuple[str, ...] = ()
    """Paths among the files that the next start loads which are there and cannot be read."""
    passed_over: tuple[str, ...] = ()
    """Paths of whole files that cannot be read, for which Spark looks for an older one."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Paths that the next start needs and that are not there."""
        files = [
            f"{each.store.directory}/{name}"
            for each in self.stores
            if isinstance(each.chain, BrokenChain)
            for name in each.chain.missing
        ]
        if self.version == 0 or self.partitions is None:
            return tuple(files)
        home = f"state/{self.operator.operator_id}"
        there = {each.store.partition for each in self.stores}
        gone = (number for number in range(self.partitions) if number not in there)
        return (*files, *(f"{home}/{number}" for number in islice(gone, MOST_NAMED)))


def judge_state(
    checkpoint: Checkpoint, version: int, *, damaged: Collection[str] = ()
) -> tuple[OperatorState, ...]:
    """Hold every operator against the version that the next start loads.

    Args:
        checkpoint: As read.
        version: The state version that is loaded.
        damaged: Paths of state files that are there and were found to be unreadable.
    """
    return tuple(
        _judge_operator(checkpoint, operator, version, damaged=damaged)
        for operator in checkpoint.state
    )


def _judge_operator(
    checkpoint: Checkpoint, operator: Operator, version: int, *, damaged: Collection[str]
) -> OperatorState:
    stores, broken, passed_over = [], [], []
    for store in operator.stores:
        chain = find_store_chain(checkpoint, operator, store, version=version, damaged=damaged)
        stores.append(StoreState(store=store, chain=chain))
        passed_over += [
            f"{store.directory}/{file.name}"
            for file in store.files
            if file.version <= version and _is_passed_over(store, file, damaged)
        ]
        if isinstance(chain, Chain):
            paths = ((f"{store.directory}/{file.name}", file) for file in chain.changes)
            broken += [path for path, file in paths if path in damaged or file.size_bytes == 0]
    return OperatorState(
        operator=operator,
        version=version,
        partitions=count_partitions(checkpoint, operator),
        stores=tuple(stores),
        damaged=tuple(broken),
        passed_over=tuple(passed_over),
    )


def find_store_chain(
    checkpoint: Checkpoint,
    operator: Operator,
    store: Store,
    *,
    version: int,
    damaged: Collection[str] = (),
) -> Chain | BrokenChain:
    """Return what Spark loads: a whole file that it cannot read it passes over for an older one."""
    usable = [file for file in store.files if not _is_passed_over(store, file, damaged)]
    return find_chain(usable, version, unique_ids(checkpoint, operator, store))


def _is_passed_over(store: Store, file: StateFile, damaged: Collection[str]) -> bool:
    path = f"{store.directory}/{file.name}"
    return file.kind.is_whole and (file.size_bytes == 0 or path in damaged)


def versions_of(checkpoint: Checkpoint) -> frozenset[int] | None:
    """Return the versions that every store of every operator can load; None without state."""
    common: frozenset[int] | None = None
    for operator in checkpoint.state:
        partitions = count_partitions(checkpoint, operator)
        if len({store.partition for store in operator.stores}) < (partitions or 0):
            return frozenset({0})
        for store in operator.stores:
            files = [file for file in store.files if file.size_bytes]
            found = loadable_versions(files, unique_ids(checkpoint, operator, store))
            common = found if common is None else common & found
    return common


def provider_of(operator: Operator) -> str | None:
    """Return which provider wrote the files; None when there are none."""
    for store in operator.stores:
        for file in store.files:
            rocks = file.kind in (StateFileKind.ZIP, StateFileKind.CHANGELOG)
            return ROCKSDB if rocks else HDFS
    return None


def count_partitions(checkpoint: Checkpoint, operator: Operator) -> int | None:
    """Return how many partitions an operator must have; None when nothing says."""
    if _is_single(operator):
        return 1
    entry = checkpoint.newest_readable
    if entry is not None and entry.metadata is not None:
        pinned = entry.metadata.conf.get(PARTITIONS, "")
        if (number := parse_number(pinned)) is not None and number <= MOST_PARTITIONS:
            return number
    newest = operator.metadata[-1] if operator.metadata else None
    if isinstance(newest, OperatorMetadata) and newest.stores:
        return min(newest.stores[0].partitions, MOST_PARTITIONS)
    return None


def unique_ids(
    checkpoint: Checkpoint, operator: Operator, store: Store
) -> Mapping[int, str] | None:
    """Return which file counts for each version of a store, by the commits; None in format 1.

    A commit lists the ids of a partition's stores in the order of their names.
    """
    if not any(file.unique_id for file in store.files):
        return None
    names = sorted({each.name for each in operator.stores}) or [DEFAULT_STORE]
    place = names.index(store.name)
    ids = {}
    for batch, commit in checkpoint.commits.items():
        if not isinstance(commit, CommitEntry) or commit.state_ids is None:
            continue
        partitions = commit.state_ids.get(str(operator.operator_id), ())
        if store.partition < len(partitions) and place < len(partitions[store.partition]):
            ids[batch + 1] = partitions[store.partition][place]
    return ids


def _is_single(operator: Operator) -> bool:
    if operator.name == "globalLimit":
        return True
    schemas = [each for each in operator.schemas if isinstance(each, StateSchema)]
    keys = [family.key.get("fields") for each in schemas for family in each.families]
    return bool(keys) and all(fields == [] for fields in keys)
