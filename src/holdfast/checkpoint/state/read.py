"""Reads what lies below `state/`: operators, their stores in every partition, and their files.

Only names, sizes and the small descriptions are read, partition by partition side by side: a
checkpoint can hold four million state files. What is inside them is for `count_rows`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import msgspec

from holdfast.checkpoint.layout import STATE, Kind, parse_name, parse_number
from holdfast.checkpoint.state.files import (
    CHECKSUM_SUFFIX,
    StateFile,
    parse_state_name,
)
from holdfast.checkpoint.state.operators import OperatorMetadata, parse_operator_metadata
from holdfast.checkpoint.state.schema import StateSchema, parse_state_schema
from holdfast.checkpoint.state.verify import (
    find_directories,
    find_schema_directories,
    verify_descriptions,
)
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.ids import BatchId
from holdfast.storage.read import FileInfo, Reader

DEFAULT_STORE = "default"
LISTERS = 16
_METADATA, _SCHEMA = "_metadata", "_stateSchema"
DESCRIPTIONS = (_METADATA, _SCHEMA)
"""Directories of an operator that describe it."""
_DATA = ("SSTs", "logs")


class Lister(Protocol):
    """What lists everything below a directory: a reader, or what was listed before."""

    def walk(self, directory: str = "") -> Iterable[FileInfo]:
        """Return every file below a directory."""


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """One store in one partition."""

    partition: int
    name: str
    directory: str
    files: tuple[StateFile, ...]
    """By version."""
    data_files: Mapping[str, int]
    """RocksDB's own files with their sizes, by their names below the directory."""
    checksums: int
    """How many files Spark wrote a checksum of its own beside."""

    @property
    def size_bytes(self) -> int:
        """Of all its files."""
        return sum(file.size_bytes for file in self.files) + sum(self.data_files.values())


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """One operator with state."""

    operator_id: int
    metadata: tuple[OperatorMetadata | Unparsed, ...]
    """Oldest first; Spark 3.5 writes none."""
    schemas: tuple[StateSchema | Unparsed, ...]
    stores: tuple[Store, ...]
    """By partition and name."""
    leftovers: tuple[str, ...]
    lone_sidecars: tuple[str, ...]
    """Hadoop's checksums of metadata and schemas that are not there."""
    foreign: tuple[str, ...]
    directories: tuple[str, ...] = ()
    """Paths of directories among the files of a store; known on local disk only."""
    stale_sidecars: tuple[str, ...] = ()
    """Hadoop's checksums that do not fit the metadata or the schema beside them."""
    unverified: tuple[str, ...] = ()
    """Metadata and schemas without a usable checksum beside them."""

    @property
    def name(self) -> str | None:
        """What Spark calls it; None when no metadata says."""
        newest = self.metadata[-1] if self.metadata else None
        return newest.name if isinstance(newest, OperatorMetadata) else None

    @property
    def unparsed(self) -> tuple[Unparsed, ...]:
        """Everything that is there and was not understood."""
        return tuple(each for each in (*self.metadata, *self.schemas) if isinstance(each, Unparsed))


def read_state(reader: Reader, names: Iterable[str]) -> tuple[Operator, ...]:
    """Read what lies below `state/`, lowest operator first.

    Args:
        reader: Of the checkpoint.
        names: Of the directories in `state/`.

    Raises:
        ReadError: A directory cannot be listed.
    """
    return tuple(
        read_operator(
            reader, number, names=reader.list(f"{STATE}/{number}").directories, listed=reader
        )
        for number in numbers(names)
    )


def read_operator(
    reader: Reader, number: int, *, names: Collection[str], listed: Lister
) -> Operator:
    """Read one operator.

    Args:
        reader: Of the checkpoint.
        number: The operator's.
        names: Of the directories in it.
        listed: Lists everything below one of them.
    """
    home = f"{STATE}/{number}"
    partitions = numbers(names)
    found = _read_partitions(home, partitions, listed, is_waited_for=listed is reader)
    described = _described(listed, home, names)
    described += [path for part in found for path in part.described]
    schemas = [path for path in described if path.startswith(f"{home}/{_SCHEMA}/")]
    schemas += [path for path in described if path.endswith(f"/{_METADATA}/schema")]
    verified = list(verify_descriptions(reader, described))
    homes = [store.directory for part in found for store in part.stores]
    known = {*DESCRIPTIONS, *map(str, partitions)}
    strangers = [name for name in names if name not in known]
    return Operator(
        operator_id=number,
        metadata=tuple(read_metadata(reader, home, described)),
        schemas=(*read_schemas(reader, sorted(schemas)), *find_schema_directories(reader, homes)),
        stores=tuple(store for part in found for store in part.stores),
        leftovers=tuple(path for part in found for path in part.leftovers),
        lone_sidecars=tuple(_lone_sidecars(described)),
        foreign=(
            *(f"{home}/{name}" for name in strangers),
            *(path for part in found for path in part.foreign),
        ),
        directories=tuple(find_directories(reader, homes)),
        stale_sidecars=tuple(path for path, fits in verified if fits is False),
        unverified=tuple(path for path, fits in verified if fits is None),
    )


def _read_partitions(
    home: str, partitions: list[int], listed: Lister, *, is_waited_for: bool
) -> list[_Partition]:
    """Read the partitions of an operator, side by side if each has to be waited for."""

    def read(partition: int) -> _Partition:
        return _read_partition(listed, f"{home}/{partition}", partition)

    if not is_waited_for:
        return list(map(read, partitions))
    with ThreadPoolExecutor(LISTERS) as pool:
        return list(pool.map(read, partitions))


def _described(listed: Lister, home: str, names: Collection[str]) -> list[str]:
    """Return the files in the directories that describe an operator."""
    there = [each for each in DESCRIPTIONS if each in names]
    return [info.path for each in there for info in listed.walk(f"{home}/{each}")]


def numbers(names: Iterable[str]) -> list[int]:
    """Return the names that are numbers, lowest first."""
    return sorted(number for name in names if (number := parse_number(name)) is not None)


class _Partition(msgspec.Struct, frozen=True, kw_only=True):
    stores: tuple[Store, ...]
    described: tuple[str, ...]
    """Files below `_metadata`, checksums too."""
    leftovers: tuple[str, ...]
    foreign: tuple[str, ...]


class _Found:
    """Collects the files of one store."""

    def __init__(self) -> None:
        self.files: list[StateFile] = []
        self.data_files: dict[str, int] = {}
        self.checksums = 0


def _read_partition(listed: Lister, home: str, partition: int) -> _Partition:
    stores: dict[str, _Found] = {}
    described, leftovers, foreign = [], [], []
    for info in listed.walk(home):
        directory, _, name = info.path[len(home) + 1 :].rpartition("/")
        # First what there can be millions of.
        if (file := parse_state_name(name, info.size_bytes)) and "/" not in directory:
            stores.setdefault(directory, _Found()).files.append(file)
            continue
        kind = parse_name(info.path).kind
        if kind is Kind.TEMP:
            leftovers.append(info.path)
        elif posixpath.basename(directory) == _METADATA:
            described.append(info.path)
        elif kind is not Kind.SIDECAR and not _collect(stores, directory, info):
            foreign.append(info.path)
    return _Partition(
        stores=tuple(
            Store(
                partition=partition,
                name=directory or DEFAULT_STORE,
                directory=f"{home}/{directory}" if directory else home,
                files=tuple(sorted(found.files, key=_order)),
                data_files=found.data_files,
                checksums=found.checksums,
            )
            for directory, found in sorted(stores.items())
        ),
        described=tuple(described),
        leftovers=tuple(leftovers),
        foreign=tuple(foreign),
    )


def _lone_sidecars(paths: list[str]) -> Iterator[str]:
    there = set(paths)
    for path in paths:
        name = parse_name(path)
        # Only these are written again: the others have names that are used once.
        is_written_again = name.target in ("metadata", "schema")
        target = f"{posixpath.dirname(path)}/{name.target}"
        if name.kind is Kind.SIDECAR and is_written_again and target not in there:
            yield path


def _collect(stores: dict[str, _Found], directory: str, info: FileInfo) -> bool:
    """Take up RocksDB's own files and Spark's checksums; False when a file is neither."""
    name = posixpath.basename(info.path)
    home, _, last = directory.rpartition("/")
    if last in _DATA:
        stores.setdefault(home, _Found()).data_files[f"{last}/{name}"] = info.size_bytes
        return True
    if not name.endswith(CHECKSUM_SUFFIX) or "/" in directory:
        return False
    if parse_state_name(name.removesuffix(CHECKSUM_SUFFIX), 0) is None:
        return False
    stores.setdefault(directory, _Found()).checksums += 1
    return True


def _order(file: StateFile) -> tuple[int, int, str]:
    return file.version, file.kind, file.unique_id or ""


def read_metadata(
    reader: Reader, home: str, paths: Iterable[str]
) -> Iterator[OperatorMetadata | Unparsed]:
    """Yield the metadata among these paths, oldest first."""
    once = f"{home}/{_METADATA}/{_METADATA.removeprefix('_')}"
    numbered: list[tuple[int, str, BatchId | None]] = [
        (-1, path, None) for path in paths if path == once
    ]
    for path in paths:
        name = parse_name(path)
        if posixpath.dirname(path) == f"{home}/{_METADATA}/v2" and name.batch_id is not None:
            numbered.append((name.batch_id, path, name.batch_id))
    for _, path, batch_id in sorted(numbered):
        raw = read_whole(reader, path)
        if raw is not None:
            yield raw if isinstance(raw, Unparsed) else parse_operator_metadata(path, batch_id, raw)


def read_schemas(reader: Reader, paths: Iterable[str]) -> Iterator[StateSchema | Unparsed]:
    """Read state schemas; one that is not there is left out."""
    for path in paths:
        if parse_name(path).kind in (Kind.SIDECAR, Kind.TEMP):
            continue
        raw = read_whole(reader, path)
        if raw is not None:
            yield raw if isinstance(raw, Unparsed) else parse_state_schema(path, raw)
