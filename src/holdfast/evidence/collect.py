"""The one collector: the command line, the Python API and the guard get their evidence here.

What was not looked at is part of the evidence, and makes an answer unknown, never fine. `collect`
looks at everything there is. `collect_near` looks at what a start needs, in a number of requests
that grows neither with the state nor with the batches kept. `collect_stream` adds what the record
and the ledgers of a stream say.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.layout import OFFSETS, STATE
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import (
    Checkpoint,
    read_checkpoint,
    read_checkpoint_near,
    read_logs_again,
)
from holdfast.checkpoint.sources.read import count_files
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.next_start import needed_version
from holdfast.evidence.progress import find_progress
from holdfast.evidence.query import Query, judge_query
from holdfast.evidence.state_content import look_into_state
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import Coverage, read_coverage
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.record.generations import ADOPTED, CLONED, Generation
from holdfast.spark_versions import BEHAVIOURS, SparkVersion
from holdfast.storage.read import Reader
from holdfast.storage.remembered import CachingReader, SeenFiles

MOST_STATE_FILES = 50_000
"""Of one checkpoint among many: a listing of them takes seconds in a bucket."""
LARGEST_LOOKED_INTO = 4 << 20
"""In bytes: state of this size is read in a tenth of a second."""
Row = LedgerRow | Unreadable | None
"""What a ledger says of a stream; None when it has no row of it."""


class LedgerLook(msgspec.Struct, frozen=True, kw_only=True):
    """How to look into the ledger of one sink."""

    sink: str
    display_name: str
    """The sink as people know it: `the PostgreSQL table public.readings`."""
    store: LedgerStore | Unreadable
    """Its ledger; why it could not be opened, where it could not."""
    is_added: Callable[[], bool]
    """Returns whether the stream ran without it until now; asked only when there is no row."""


class StreamPlaces(msgspec.Struct, frozen=True, kw_only=True):
    """Where the evidence of one stream lies, and what is known of its query."""

    stream: str
    generation: Generation
    checkpoint: Reader
    ledgers: tuple[LedgerLook, ...]
    query: Query | None
    """None when nothing is known of it."""
    spark: SparkVersion
    sources: tuple[str, ...] = ()
    sources_before: tuple[str, ...] | None = None
    seen: SeenFiles = msgspec.field(default_factory=SeenFiles)
    """What was read of the checkpoint's logs by an earlier look of the same start."""

    def reading_once(self) -> StreamPlaces:
        """Return the same places, with a checkpoint whose files are asked for once."""
        return replace(self, checkpoint=CachingReader(self.checkpoint, self.seen))


def collect(reader: Reader, *, rows: bool = False, verify: bool = False) -> Evidence:
    """Collect everything that a checkpoint tells.

    Args:
        reader: Of the checkpoint.
        rows: Whether every state file that the next start loads is read, and its rows are counted.
        verify: Whether state files that are read are compared with Hadoop's checksums beside them,
            and small state on disk is read for it.

    Raises:
        ReadError: A directory cannot be listed; nothing can be said then.
    """
    checkpoint = read_checkpoint(reader)
    rows = rows or (verify and _is_small(reader, checkpoint))
    version = needed_version(checkpoint)
    return Evidence(
        checkpoint=checkpoint,
        stores=look_into_state(reader, checkpoint, version, rows=rows, verify=verify),
        pending_files=_count_pending_files(reader, checkpoint),
    )


def _is_small(reader: Reader, checkpoint: Checkpoint) -> bool:
    sizes = (store.size_bytes for operator in checkpoint.state for store in operator.stores)
    return reader.location.is_local and sum(sizes) <= LARGEST_LOOKED_INTO


def collect_near(reader: Reader, near: BatchId | None) -> Evidence:
    """Collect what a start needs to know of a checkpoint, in a bounded number of requests.

    Args:
        reader: Of the checkpoint.
        near: The newest batch that a ledger tells of; None when none does.

    Raises:
        ReadError: A directory cannot be listed; nothing can be said then.
    """
    checkpoint = read_checkpoint_near(reader, near)
    version = needed_version(checkpoint)
    stores = look_into_state(reader, checkpoint, version, rows=False)
    return Evidence(checkpoint=checkpoint, stores=stores)


def collect_shallow(reader: Reader) -> Evidence:
    """Collect what predicts the next start from a few requests, whatever the checkpoint holds.

    Only the newest log entries are read, and state only where few directories hold it. Hadoop's
    checksums are not compared.

    Raises:
        ReadError: A directory cannot be listed; nothing can be said then.
    """
    found = read_checkpoint_near(reader, None, is_shallow=True)
    checkpoint = replace(found, keeps_checksums=False)
    stores = look_into_state(reader, checkpoint, needed_version(checkpoint), rows=False)
    pending = _count_pending_files(reader, checkpoint)
    return Evidence(checkpoint=checkpoint, stores=stores, pending_files=pending)


def collect_among_many(reader: Reader) -> Evidence:
    """Collect what predicts the next start of one checkpoint among many.

    The newest log entries are read, and `state/` is listed where it has few files; where it has
    more, the prediction of a stateful query is unknown.

    Raises:
        ReadError: A directory cannot be listed; nothing can be said then.
    """
    near = collect_near(reader, None)
    checkpoint = near.checkpoint
    if checkpoint.state_unread is not None:
        if sum(1 for _ in islice(reader.walk(STATE), MOST_STATE_FILES + 1)) <= MOST_STATE_FILES:
            return collect(reader)
        why = f"it has more than {MOST_STATE_FILES:,} files"
        checkpoint = replace(checkpoint, state_unread=why)
    pending = _count_pending_files(reader, checkpoint)
    return replace(near, checkpoint=checkpoint, pending_files=pending)


def _count_pending_files(reader: Reader, checkpoint: Checkpoint) -> dict[str, int]:
    """Count the files of a pending batch, which has fewer entries in the source's log."""
    progress = find_progress(checkpoint)
    logs = {log.name: log for log in checkpoint.sources}
    found = {}
    for each in progress.sources if progress.pending else ():
        end = None if each.end is None else each.end.log_index
        if end is not None and each.amount and each.source in logs:
            numbers = range(end - each.amount.number + 1, end + 1)
            files = count_files(reader, logs[each.source], numbers)
            if files is not None:
                found[each.source] = files
    return found


def collect_stream(places: StreamPlaces) -> StreamEvidence:
    """Collect what a start needs to know of a stream: its ledgers first, then its checkpoint.

    Raises:
        ReadError: A directory of the checkpoint cannot be listed.
    """
    once = places.reading_once()
    rows = _read_rows(once)
    return _put_together(once, collect_near(once.checkpoint, _newest_held(rows)), rows)


def collect_ledgers(places: StreamPlaces, found: Evidence) -> StreamEvidence:
    """Add what the ledgers of a stream say to what is known of its checkpoint."""
    return _put_together(places, found, _read_rows(places))


def _read_rows(places: StreamPlaces) -> list[Row]:
    stores = (look.store for look in places.ledgers)
    return [each if isinstance(each, Unreadable) else each.read(places.stream) for each in stores]


def collect_again(places: StreamPlaces, before: StreamEvidence) -> StreamEvidence:
    """Collect again what another driver can have changed since: the ledgers and the logs.

    Raises:
        ReadError: A directory of the checkpoint cannot be listed.
    """
    once = places.reading_once()
    rows = _read_rows(once)
    checkpoint = read_logs_again(once.checkpoint, before.checkpoint)
    return _put_together(once, Evidence(checkpoint=checkpoint, stores=before.stores), rows)


def _newest_held(rows: list[Row]) -> BatchId | None:
    return max((row.last_batch for row in rows if isinstance(row, LedgerRow)), default=None)


def _put_together(places: StreamPlaces, found: Evidence, rows: list[Row]) -> StreamEvidence:
    checkpoint = with_metadata(found.checkpoint, places.generation)
    metadata = checkpoint.metadata
    query_id = metadata.query_id if isinstance(metadata, QueryMetadata) else QueryId("")
    refused = None
    if checkpoint.offsets and places.query is not None:
        batch = BatchId(needed_version(checkpoint))
        does = BEHAVIOURS[places.spark]
        refused = judge_query(checkpoint, places.query, batch_id=batch, does=does)
    return StreamEvidence(
        checkpoint=checkpoint,
        stores=found.stores,
        stream=places.stream,
        generation=places.generation,
        binding=Binding(query_id=query_id, checkpoint=places.generation.checkpoint),
        sinks=tuple(
            _look_into(look, row, places=places, checkpoint=checkpoint, query_id=query_id)
            for look, row in zip(places.ledgers, rows, strict=True)
        ),
        sources=places.sources,
        sources_before=places.sources_before,
        query_refused=refused,
    )


def with_metadata(checkpoint: Checkpoint, generation: Generation) -> Checkpoint:
    """Return the checkpoint as it will be when Spark starts: with its `metadata`."""
    if checkpoint.metadata is not None or generation.why == ADOPTED:
        return checkpoint
    return replace(checkpoint, metadata=QueryMetadata(query_id=QueryId(generation.query_id)))


def _look_into(
    look: LedgerLook,
    row: Row,
    *,
    places: StreamPlaces,
    checkpoint: Checkpoint,
    query_id: QueryId,
) -> SinkEvidence:
    found = SinkEvidence(sink=look.sink, display_name=look.display_name, row=None, held=None)
    if isinstance(look.store, Unreadable):
        return replace(found, unreadable=look.store)
    if isinstance(row, Unreadable):
        return replace(found, unreadable=row)
    if row is None:
        is_adopted = places.generation.why == ADOPTED
        native = look.store.find_native(query_id) if is_adopted else None
        is_clone = places.generation.why == CLONED
        return replace(
            found,
            native_batch=native,
            is_added=look.is_added(),
            owners=look.store.other_streams(places.stream) if is_clone else (),
            forgotten_epoch=look.store.last_epoch(places.stream),
        )
    return replace(
        found,
        row=row,
        held=_read_held(places.checkpoint, checkpoint, row.last_batch),
        contradicts=look.store.examine(row),
    )


def _read_held(
    reader: Reader, checkpoint: Checkpoint, batch_id: BatchId
) -> Coverage | Unparsed | None:
    """Read what the checkpoint says of a batch; None when it has no entry of it."""
    is_unread = checkpoint.first_read is not None and 0 <= batch_id < checkpoint.first_read
    is_there = batch_id in checkpoint.offsets or (
        is_unread and reader.stat(f"{OFFSETS}/{batch_id}") is not None
    )
    return read_coverage(reader, batch_id) if is_there else None
