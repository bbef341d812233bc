"""Spark Declarative Pipelines: the flows of a pipeline, found in its storage root.

From Spark 4.2 `sql/pipelines/…/SystemMetadata.scala`: every streaming flow has its checkpoints at

    <storage>/_checkpoints/<catalog>/<schema>/<table>/<flow>/<n>

A sink has its name in the place of the table's three. A full refresh makes the next `<n>`, here
called a generation; Spark goes on with the highest and keeps the others. A renamed flow is another
flow: it begins at batch 0 and reads its source from the start.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.file_sink import read_sink_log
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, Kind, parse_name
from holdfast.checkpoint.layout import parse_number as parse_generation
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.whole import read_whole
from holdfast.evidence.source_names import name_sources
from holdfast.ids import BatchId
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location
from holdfast.storage.read import Reader

CHECKPOINTS = "_checkpoints"
_MOST_PARTS = 4
"""Catalog, schema, table and flow; of a sink only its name and the flow."""


class FlowGeneration(msgspec.Struct, frozen=True, kw_only=True):
    """One checkpoint of a flow."""

    number: int
    newest_planned: int = -1
    newest_committed: int = -1
    oldest_planned: int = -1
    """The oldest batch whose offset entry is kept; -1 without any."""
    oldest_ms: int | None = None
    """When that batch began, by the driver's clock."""
    newest_ms: int | None = None
    query_id: str = ""
    reads: tuple[str, ...] = ()
    """What its sources are, as far as their offsets and logs tell: `topic sensors`."""


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """A flow with all its checkpoints, lowest generation first."""

    name: str
    generations: tuple[FlowGeneration, ...]

    @property
    def current(self) -> FlowGeneration:
        """The one that the next run goes on with."""
        return self.generations[-1]

    def is_replaced_by(self, other: Flow) -> bool:
        """Return whether another flow began to read the same source after this one had ended."""
        ended, began = self.current.newest_ms, other.current.oldest_ms
        if self.name == other.name or ended is None or began is None or ended >= began:
            return False
        return not set(self.current.reads).isdisjoint(other.current.reads)


class FlowTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table or a sink, and the flows that write into it."""

    name: str
    """With dots between its parts: `spark_catalog.default.rows`."""
    flows: tuple[Flow, ...]
    newest_listed: int | None = None
    """The newest batch that a table of files lists; None for other tables, and when the table was
    not looked at."""

    @property
    def running(self) -> tuple[Flow, ...]:
        """Flows that have planned a batch and were not replaced by another one."""
        begun = [each for each in self.flows if each.current.newest_planned >= 0]
        return tuple(
            each for each in begun if not any(each.is_replaced_by(other) for other in begun)
        )


class FlowPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Which checkpoint of which flow is looked at."""

    storage: str
    table: FlowTable
    flow: str
    generation: int

    @property
    def looked_at(self) -> Flow:
        """The flow."""
        return next(each for each in self.table.flows if each.name == self.flow)

    @property
    def is_current(self) -> bool:
        """Whether the next run goes on with this checkpoint."""
        return self.generation == self.looked_at.current.number


class FlowAddress(msgspec.Struct, frozen=True, kw_only=True):
    """What the location of a checkpoint tells of its flow."""

    storage: Location
    table: tuple[str, ...]
    flow: str
    generation: int


def address_of(checkpoint: Location) -> FlowAddress | None:
    """Return which flow a checkpoint belongs to, by its location alone; None if to none."""
    root, found, inside = checkpoint.path.rpartition(f"{CHECKPOINTS}/")
    *table, flow, number = inside.split("/") if found else ("", "")
    generation = parse_generation(number)
    if generation is None or not flow or not 1 <= len(table) < _MOST_PARTS:
        return None
    if root and not root.endswith("/"):
        return None
    path = root if root == "/" else root.rstrip("/")
    storage = Location(scheme=checkpoint.scheme, bucket=checkpoint.bucket, path=path)
    return FlowAddress(storage=storage, table=tuple(table), flow=flow, generation=generation)


def find_flow(
    checkpoint: Location, open_at: Callable[[Location], Reader], tables: Iterable[Reader] = ()
) -> FlowPlace | None:
    """Return the flow that a checkpoint belongs to; None where no pipeline made it.

    Args:
        checkpoint: Its location, which tells whether it is in a storage root.
        open_at: Returns a reader of the storage root.
        tables: Of the sinks that were named; the first one with a log of files is the table.

    Raises:
        ReadError: A directory cannot be listed.
    """
    address = address_of(checkpoint)
    if address is None:
        return None
    table = next((each for each in tables if read_sink_log(each) is not None), None)
    return read_place(open_at(address.storage), address, table)


def read_place(
    storage: Reader, address: FlowAddress, table: Reader | None = None
) -> FlowPlace | None:
    """Return the flow of a checkpoint among the other flows of its table; None if it is not there.

    Args:
        storage: Of the storage root.
        address: Of the checkpoint.
        table: Of the directory that the table's files are in, where it is known.

    Raises:
        ReadError: A directory cannot be listed.
    """
    home = posixpath.join(CHECKPOINTS, *address.table)
    found = _read_table(storage, home, table)
    if found is None or address.flow not in {each.name for each in found.flows}:
        return None
    return FlowPlace(
        storage=str(address.storage),
        table=found,
        flow=address.flow,
        generation=address.generation,
    )


def read_storage(storage: Reader) -> tuple[FlowTable, ...]:
    """Return every table of a storage root with its flows; empty where there is none.

    Raises:
        ReadError: A directory cannot be listed.
    """
    if CHECKPOINTS not in storage.list().directories:
        return ()
    homes = sorted(set(_find_tables(storage, CHECKPOINTS, _MOST_PARTS)))
    tables = (_read_table(storage, home, None) for home in homes)
    return tuple(each for each in tables if each is not None)


def _find_tables(reader: Reader, directory: str, parts: int) -> Iterator[str]:
    """Yield the directories of tables: what is two above a number."""
    for name in reader.list(directory).directories if parts else ():
        path = f"{directory}/{name}"
        if _generations(reader, path):
            yield directory
        else:
            yield from _find_tables(reader, path, parts - 1)


def _generations(reader: Reader, directory: str) -> list[int]:
    numbers = (parse_generation(name) for name in reader.list(directory).directories)
    return sorted(number for number in numbers if number is not None)


def _read_table(storage: Reader, home: str, table: Reader | None) -> FlowTable | None:
    flows = []
    for name in storage.list(home).directories:
        path = f"{home}/{name}"
        numbers = _generations(storage, path)
        if not numbers:
            continue
        older = [_list_generation(SubdirReader(storage, f"{path}/{n}"), n) for n in numbers[:-1]]
        current = _read_generation(SubdirReader(storage, f"{path}/{numbers[-1]}"), numbers[-1])
        flows.append(Flow(name=name, generations=(*older, current)))
    if not flows:
        return None
    listed = None if table is None else read_sink_log(table)
    return FlowTable(
        name=home.removeprefix(f"{CHECKPOINTS}/").replace("/", "."),
        flows=tuple(flows),
        newest_listed=None if listed is None else listed.newest,
    )


def _list_generation(reader: Reader, number: int) -> FlowGeneration:
    """Say how far a checkpoint has come, by the names of its entries alone."""
    planned = _batches(reader, OFFSETS)
    return FlowGeneration(
        number=number,
        newest_planned=max(planned, default=-1),
        newest_committed=max(_batches(reader, COMMITS), default=-1),
        oldest_planned=min(planned, default=-1),
    )


def _read_generation(reader: Reader, number: int) -> FlowGeneration:
    """Say what the checkpoint of the next run holds."""
    listed = _list_generation(reader, number)
    if listed.newest_planned < 0:
        return listed
    oldest = _entry(reader, BatchId(listed.oldest_planned))
    newest = _entry(reader, BatchId(listed.newest_planned))
    raw = read_whole(reader, METADATA)
    metadata = parse_metadata(METADATA, raw) if isinstance(raw, bytes) else None
    return replace(
        listed,
        oldest_ms=_began(oldest),
        newest_ms=_began(newest),
        query_id=metadata.query_id if isinstance(metadata, QueryMetadata) else "",
        reads=() if newest is None else tuple(name_sources(reader, newest)),
    )


def _batches(reader: Reader, log: str) -> list[BatchId]:
    names = (parse_name(info.path) for info in reader.list(log).files)
    return [
        each.batch_id for each in names if each.kind is Kind.ENTRY and each.batch_id is not None
    ]


def _entry(reader: Reader, batch: BatchId) -> OffsetEntry | None:
    path = f"{OFFSETS}/{batch}"
    raw = read_whole(reader, path)
    entry = parse_offset_entry(path, batch, raw) if isinstance(raw, bytes) else None
    return entry if isinstance(entry, OffsetEntry) else None


def _began(entry: OffsetEntry | None) -> int | None:
    return None if entry is None or entry.metadata is None else entry.metadata.batch_timestamp_ms
