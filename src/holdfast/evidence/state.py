"""Whether the state that a batch needs is there: every file of its version, in every partition.

Batch N loads version N of every store (`state/<operator>/<partition>[/<store>]`). How many
partitions there must be is pinned in the newest offset entry; operators that bring everything to
one place, a limit or an aggregation without keys, have a single one whatever is pinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import parse_number
from holdfast.checkpoint.offsets import PARTITIONS
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.chain import BrokenChain, Chain, find_chain, loadable_versions
from holdfast.checkpoint.state.files import StateFile, StateFileKind
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.checkpoint.state.read import DEFAULT_STORE, Operator, Store
from holdfast.checkpoint.state.schema import StateSchema
from holdfast.spark_versions import Behaviour

MOST_NAMED = 1_000
"""So many missing partitions are named, and no more."""
MOST_PARTITIONS = 1_000_000
"""More than this nobody has: a number that is larger is damage, and is not counted up to."""
ROCKSDB, HDFS = "RocksDB", "HDFS-backed"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


class StoreState(msgspec.Struct, frozen=True, kw_only=True):
    """One store and the files that make up the version a start needs."""

    store: Store
    chain: Chain | BrokenChain


class OperatorState(msgspec.Struct, frozen=True, kw_only=True):
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

    unread: tuple[str, ...] = ()
    """Paths among the files that the next start loads which we were not allowed to read."""

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
        there = {(each.store.partition, each.store.name) for each in self.stores}
        gone = (
            store_path(self.operator, number, name)
            for number in range(self.partitions)
            for name in expected_stores(self.operator)
            if (number, name) not in there
        )
        return (*files, *islice(gone, MOST_NAMED))


def store_path(operator: Operator, partition: int, name: str) -> str:
    """Return the directory of a store in a partition."""
    home = f"state/{operator.operator_id}/{partition}"
    return home if name == DEFAULT_STORE else f"{home}/{name}"


def expected_stores(operator: Operator) -> tuple[str, ...]:
    """Return the names of the stores that every partition of an operator has."""
    newest = operator.metadata[-1] if operator.metadata else None
    if isinstance(newest, OperatorMetadata) and newest.stores:
        return tuple(store.name for store in newest.stores)
    return tuple(sorted({store.name for store in operator.stores})) or (DEFAULT_STORE,)


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What looking into state files has shown; nothing when nobody looked."""

    damaged: frozenset[str] = frozenset()
    """Paths of files that are there and cannot be used."""
    unread: frozenset[str] = frozenset()
    """Paths of files that we were not allowed to read, or that were gone when we came."""
    unverified: frozenset[str] = frozenset()
    """Those damaged ones that are RocksDB snapshots and differ from Spark's own checksum alone."""
    by_4_0: tuple[str, ...] = ()
    """Paths of snapshots that only Spark 4.0 writes and reads."""


NOT_LOOKED = Looked()


def judge_state(
    checkpoint: Checkpoint, version: int, *, does: Behaviour, looked: Looked = NOT_LOOKED
) -> tuple[OperatorState, ...]:
    """Hold every operator against the version that the next start loads; none if unread.

    Args:
        checkpoint: As read.
        version: The state version that is loaded.
        does: What the version that will be started does.
        looked: What looking into the files has shown.
    """
    if checkpoint.state_unread is not None:
        return ()
    if not does.verifies_snapshots:
        looked = replace(looked, damaged=looked.damaged - looked.unverified)
    repairs = does.repairs_state
    return tuple(
        _judge_operator(checkpoint, operator, version, looked=looked, repairs=repairs)
        for operator in checkpoint.state
    )


def _judge_operator(
    checkpoint: Checkpoint, operator: Operator, version: int, *, looked: Looked, repairs: bool
) -> OperatorState:
    stores: list[StoreState] = []
    broken: list[str] = []
    passed_over: list[str] = []
    unread: list[str] = []
    ids = unique_ids(checkpoint, operator)
    for store in loaded_stores(checkpoint, operator):
        damaged = {file for file in store.files if _is_damaged(store, file, looked)}
        skipped = {file for file in damaged if repairs and file.kind.is_whole}
        usable = [file for file in store.files if file not in skipped]
        chain = find_chain(usable, version, ids.get((store.partition, store.name)))
        stores.append(StoreState(store=store, chain=chain))
        passed_over += [_path(store, each) for each in skipped if each.version <= version]
        if isinstance(chain, Chain):
            broken += [_path(store, each) for each in chain.files if each in damaged]
            unread += [
                _path(store, each) for each in chain.files if _path(store, each) in looked.unread
            ]
    return OperatorState(
        operator=operator,
        version=version,
        partitions=count_partitions(checkpoint, operator),
        stores=tuple(stores),
        damaged=tuple(broken),
        passed_over=tuple(sorted(passed_over)),
        unread=tuple(unread),
    )


def loaded_stores(checkpoint: Checkpoint, operator: Operator) -> list[Store]:
    """Return the stores that Spark loads: no partitions above the pinned number, no other names."""
    partitions, names = count_partitions(checkpoint, operator), expected_stores(operator)
    return [
        store
        for store in operator.stores
        if store.name in names and (partitions is None or store.partition < partitions)
    ]


def _path(store: Store, file: StateFile) -> str:
    return f"{store.directory}/{file.name}"


def _is_damaged(store: Store, file: StateFile, looked: Looked) -> bool:
    return file.size_bytes == 0 or _path(store, file) in looked.damaged


def versions_of(checkpoint: Checkpoint, looked: Looked = NOT_LOOKED) -> frozenset[int] | None:
    """Return the versions that every store of every operator can load; None without state."""
    common: frozenset[int] | None = None
    for operator in checkpoint.state:
        stores, ids = loaded_stores(checkpoint, operator), unique_ids(checkpoint, operator)
        partitions = count_partitions(checkpoint, operator) or 0
        if len(stores) < partitions * len(expected_stores(operator)):
            return frozenset({0})
        for store in stores:
            files = [file for file in store.files if not _is_damaged(store, file, looked)]
            found = loadable_versions(files, ids.get((store.partition, store.name)))
            common = found if common is None else common & found
    return common


def provider_of(operator: Operator) -> str | None:
    """Return which provider wrote the files; None when there are none."""
    for store in operator.stores:
        for file in store.files:
            rocks = file.kind in (StateFileKind.ZIP, StateFileKind.CHANGELOG)
            return ROCKSDB if rocks else HDFS
    return None


def missing_file_error(
    checkpoint: Checkpoint, does: Behaviour, *, operator: Operator | None = None
) -> str:
    """Return what Spark's error contains when a state file is missing.

    Args:
        checkpoint: As read; the newest entry records which provider it is for.
        does: What the version that will be started does.
        operator: Whose file is missing, where it has others that tell the provider.
    """
    entry = checkpoint.newest_readable
    conf = {} if entry is None or entry.metadata is None else entry.metadata.conf
    pinned = ROCKSDB if "RocksDB" in conf.get(_PROVIDER, "") else HDFS
    provider = (operator and provider_of(operator)) or pinned
    return does.rocksdb_missing if provider == ROCKSDB else does.delta_missing


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
    checkpoint: Checkpoint, operator: Operator
) -> Mapping[tuple[int, str], Mapping[int, str]]:
    """Return, per partition and store, which file counts for each version; nothing in format 1.

    A commit lists the ids of a partition's stores in the order of their names.
    """
    if not any(file.unique_id for store in operator.stores for file in store.files):
        return {}
    names = sorted({store.name for store in operator.stores})
    ids: dict[tuple[int, str], dict[int, str]] = {
        (store.partition, store.name): {} for store in operator.stores
    }
    for batch, commit in checkpoint.commits.items():
        if not isinstance(commit, CommitEntry) or commit.state_ids is None:
            continue
        for partition, found in enumerate(commit.state_ids.get(str(operator.operator_id), ())):
            for name, each in zip(names, found, strict=False):
                if (partition, name) in ids:
                    ids[partition, name][batch + 1] = each
    return ids


def _is_single(operator: Operator) -> bool:
    if operator.name == "globalLimit":
        return True
    schemas = [each for each in operator.schemas if isinstance(each, StateSchema)]
    keys = [family.key.get("fields") for each in schemas for family in each.families]
    return bool(keys) and all(map(_is_no_key, keys))


def _is_no_key(fields: object) -> bool:
    """Return whether a key holds nothing: of an aggregation without keys, or of a limit."""
    if not isinstance(fields, list):
        return False
    return all(isinstance(each, dict) and each.get("type") == "void" for each in fields)
