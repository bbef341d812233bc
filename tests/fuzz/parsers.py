"""Which parser reads a file of a checkpoint, and what it may return.

Each goes in as the product goes in: bytes of one file, in memory. A parser of state files counts
rows too, because what it raises inside is turned into a value there.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.checksums import (
    Sidecar,
    SparkChecksum,
    parse_sidecar,
    parse_spark_checksum,
)
from holdfast.checkpoint.commits import CommitEntry, parse_commit_entry
from holdfast.checkpoint.file_sink import SinkEntry, parse_sink_log
from holdfast.checkpoint.layout import Kind, Name, parse_name
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.read import read_checkpoint
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.checkpoint.state import Chain, NotCounted, StateFile, count_rows
from holdfast.checkpoint.state.files import CHECKSUM_SUFFIX, StateFileKind, parse_state_name
from holdfast.checkpoint.state.operators import OperatorMetadata, parse_operator_metadata
from holdfast.checkpoint.state.read import _read_partition
from holdfast.checkpoint.state.records import Change, read_changes, read_lineage
from holdfast.checkpoint.state.rocksdb import RocksSnapshot, parse_rocks_snapshot
from holdfast.checkpoint.state.schema import StateSchema, parse_state_schema
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.sources.auto_loader.kind import AutoLoaderOffset
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.files.kind import FileOffset
from holdfast.sources.iceberg.kind import IcebergOffset
from holdfast.sources.kafka.kind import KafkaOffset, parse_initial_offset
from holdfast.sources.kind import StartTime
from holdfast.sources.rate.kind import NUMBER, CountOffset, RateMicroBatchOffset
from holdfast.sources.registry import parse_offset
from holdfast.sources.unknown.kind import OpaqueOffset
from holdfast.storage.memory import MemoryStorage

Parse = Callable[[str, bytes], Iterator[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """One kind of file: how it is read, and what may come of it."""

    kind: str
    parse: Parse
    types: object
    """A type, or a union of types; every value that the parser yields fits it."""


def _metadata(path: str, raw: bytes) -> Iterator[object]:
    yield parse_metadata(path, raw)


def _offsets(path: str, raw: bytes) -> Iterator[object]:
    entry = parse_offset_entry(path, BatchId(7), raw)
    yield entry
    if isinstance(entry, OffsetEntry):
        yield from (parse_offset(each.text) for each in entry.offsets if each.text is not None)


def _commits(path: str, raw: bytes) -> Iterator[object]:
    yield parse_commit_entry(path, BatchId(7), raw)


def _file_log(path: str, raw: bytes) -> Iterator[object]:
    yield from parse_file_log(path, iter((raw[:1000], raw[1000:])))


def _sink_log(path: str, raw: bytes) -> Iterator[object]:
    yield from parse_sink_log(path, iter((raw[:1000], raw[1000:])))


def _initial_offset(path: str, raw: bytes) -> Iterator[object]:
    yield parse_initial_offset(path, raw)


def _start_time(path: str, raw: bytes) -> Iterator[object]:
    yield NUMBER.parse_beginning(path, raw)


def _operator(path: str, raw: bytes) -> Iterator[object]:
    yield parse_operator_metadata(path, parse_name(path).batch_id, raw)


def _schema(path: str, raw: bytes) -> Iterator[object]:
    yield parse_state_schema(path, raw)


def _sidecar(path: str, raw: bytes) -> Iterator[object]:
    found = parse_sidecar(path, raw)
    yield found
    if isinstance(found, Sidecar):
        yield found.fits(b"content of some file" * 100)


def _spark_checksum(path: str, raw: bytes) -> Iterator[object]:
    found = parse_spark_checksum(path, raw)
    yield found
    if isinstance(found, SparkChecksum):
        yield found.fits(b"content")


def _changes(path: str, raw: bytes) -> Iterator[object]:
    directory, name = posixpath.split(path)
    file = parse_state_name(name, len(raw))
    assert file is not None
    with suppress(BrokenBytesError):
        yield from read_changes(file.kind, iter((raw,)))
    with suppress(BrokenBytesError):
        yield read_lineage(iter((raw,)))
    yield count_rows(MemoryStorage({path: raw}), directory, _chain(file))


def _chain(file: StateFile) -> Chain:
    if file.kind.is_whole:
        return Chain(version=file.version, base=file, changes=())
    return Chain(version=file.version, base=None, changes=(file,))


def _zip(path: str, raw: bytes) -> Iterator[object]:
    yield parse_rocks_snapshot(path, raw)


def _data_file(path: str, raw: bytes) -> Iterator[object]:
    """RocksDB's data is listed and never opened: its size is what is read of it."""
    home = "/".join(path.split("/")[:3])
    # Without the threads of `read_state`, which would take 40 times as long as the reading.
    for store in _read_partition(MemoryStorage({path: raw}), home, 0).stores:
        assert list(store.data_files.values()) == [len(raw)]
        yield from store.data_files.values()


def _leftover(path: str, raw: bytes) -> Iterator[object]:
    """A temp file is named and never opened."""
    found = read_checkpoint(MemoryStorage({path: raw}))
    assert found.leftovers == (path,)
    yield path


_OFFSET = (
    AutoLoaderOffset
    | CountOffset
    | DeltaOffset
    | FileOffset
    | IcebergOffset
    | KafkaOffset
    | RateMicroBatchOffset
    | OpaqueOffset
)
METADATA = Parser(kind="metadata", parse=_metadata, types=QueryMetadata | Unparsed)
OFFSETS = Parser(kind="offsets", parse=_offsets, types=OffsetEntry | Unparsed | _OFFSET)
COMMITS = Parser(kind="commits", parse=_commits, types=CommitEntry | Unparsed)
FILE_LOG = Parser(kind="file source log", parse=_file_log, types=FileEntry | Unparsed)
SINK_LOG = Parser(kind="file sink log", parse=_sink_log, types=SinkEntry | Unparsed)
KAFKA = Parser(kind="kafka's beginning", parse=_initial_offset, types=KafkaOffset | Unparsed)
RATE = Parser(kind="rate's beginning", parse=_start_time, types=StartTime | Unparsed)
OPERATOR = Parser(kind="operator metadata", parse=_operator, types=OperatorMetadata | Unparsed)
SCHEMA = Parser(kind="state schema", parse=_schema, types=StateSchema | Unparsed)
SIDECAR = Parser(kind="hadoop checksums", parse=_sidecar, types=Sidecar | bool | Unparsed)
CHECKSUM = Parser(
    kind="spark checksum", parse=_spark_checksum, types=SparkChecksum | bool | None | Unparsed
)
ZIP = Parser(kind="zip", parse=_zip, types=RocksSnapshot | Unparsed)
DATA_FILE = Parser(kind="rocksdb data", parse=_data_file, types=int)
LEFTOVER = Parser(kind="leftover", parse=_leftover, types=str)
_ROWS = Change | tuple[int, ...] | int | NotCounted | Unparsed
CHANGES = {
    kind: Parser(kind=kind.suffix, parse=_changes, types=_ROWS)
    for kind in (StateFileKind.DELTA, StateFileKind.SNAPSHOT, StateFileKind.CHANGELOG)
}
ALL = (
    METADATA,
    OFFSETS,
    COMMITS,
    FILE_LOG,
    SINK_LOG,
    KAFKA,
    RATE,
    OPERATOR,
    SCHEMA,
    SIDECAR,
    CHECKSUM,
    *CHANGES.values(),
    ZIP,
    DATA_FILE,
    LEFTOVER,
)


def parser_of(path: str, raw: bytes) -> Parser:
    """Return the parser of a file that Spark wrote, by its path and how it begins.

    Raises:
        LookupError: Nothing here knows the file.
    """
    name = parse_name(path)
    if name.kind is Kind.TEMP:
        return LEFTOVER
    if name.kind is Kind.SIDECAR:
        return SIDECAR
    found = _of_log(path, name, raw) or _of_state(path)
    if found is None:
        raise LookupError(f"no parser for {path}")
    return found


def _of_log(path: str, name: Name, raw: bytes) -> Parser | None:
    top = path.partition("/")[0]
    if path == "metadata":
        return METADATA
    if name.batch_id is None:
        return None
    if top == "sources":
        if raw.startswith(b"\0"):
            return KAFKA
        return FILE_LOG if b"{" in raw else RATE
    return {"offsets": OFFSETS, "commits": COMMITS, "_spark_metadata": SINK_LOG}.get(top)


def _of_state(path: str) -> Parser | None:
    directory, base = posixpath.split(path)
    parts = path.split("/")
    if "_stateSchema" in parts or parts[-2:] == ["_metadata", "schema"]:
        return SCHEMA
    if "_metadata" in parts:
        return OPERATOR
    if posixpath.basename(directory) in ("SSTs", "logs"):
        return DATA_FILE
    if base.endswith(CHECKSUM_SUFFIX):
        return CHECKSUM
    file = parse_state_name(base, 0)
    if file is None:
        return None
    return ZIP if file.kind is StateFileKind.ZIP else CHANGES[file.kind]


def understands(parser: Parser, path: str, raw: bytes) -> bool:
    """Return whether a value comes of a file, and not that it was not understood."""
    return not any(isinstance(each, Unparsed) for each in parser.parse(path, raw))
