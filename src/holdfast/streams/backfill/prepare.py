"""Finds out what a backfill would do: reads the record, the ledgers and the sources; no more."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from holdfast import clock
from holdfast.errors import ConfigError
from holdfast.record.backfills import (
    MAX_CHUNKS,
    Backfill,
    backfill_name,
    read_backfill,
    read_backfills,
)
from holdfast.record.layout import backfill_location
from holdfast.sinks.session import writer_of
from holdfast.sinks.sink import SinkWriter
from holdfast.spark.port import port_of
from holdfast.storage.write import Writer
from holdfast.streams.backfill.beginnings import UnknownBeginning, find_beginning
from holdfast.streams.backfill.chunks import ChunkReader, Chunks
from holdfast.streams.backfill.errors import BackfillRefusedError
from holdfast.streams.backfill.known import KnownStream, find_stream, read_row
from holdfast.streams.backfill.parts import SourcePart, source_parts
from holdfast.streams.backfill.positions import (
    EARLIEST,
    Position,
    beginning,
    count_chunks,
    decode_position,
    digest_of,
    encode_position,
    find_fault,
    is_before,
    like,
    overlaps,
    parse_position,
    total,
)
from holdfast.streams.batch_form import NoBatchForm
from holdfast.streams.declared import Declared
from holdfast.streams.resolve import check_session, resolve_sinks
from holdfast.streams.sending import check_sendable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillRequest:
    """A range of a stream's sources, as somebody asked for it."""

    start: str
    """`earliest`, or a position as people write it."""
    end: str
    chunk: int | None = None
    """How much of each source a chunk has at most; None for what suits the source."""
    root: str | None = None

    def __post_init__(self) -> None:
        if self.chunk is not None and self.chunk < 1:
            raise ConfigError(f"A chunk of {self.chunk} is not one: give a number from 1.")


class BackfillProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a backfill has got."""

    name: str
    done: int
    """How many chunks every sink holds."""
    chunks: int
    read: int
    """How much of the sources these chunks have: offsets, versions, entries of a file log."""
    size: int
    """How much the whole range has."""
    seconds_per_chunk: float
    """Of those that this run has written; 0 before the first."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill that is ready to run."""

    known: KnownStream
    name: str
    """Of the backfill in the ledger."""
    record: Writer
    """Of the backfill."""
    kept: Backfill
    """What its record says, or will say."""
    chunks: Chunks
    reader: ChunkReader
    sinks: tuple[SinkWriter, ...]

    def held(self) -> tuple[int, ...]:
        """Return how many chunks each sink holds."""
        return tuple(_held(sink, self.name) for sink in self.sinks)

    def progress(self, done: int, *, seconds: float) -> BackfillProgress:
        """Return how far it is when every sink holds so many chunks, each written in some time."""
        chunks = self.chunks
        return BackfillProgress(
            name=self.name,
            done=done,
            chunks=chunks.count,
            read=total(chunks.start, chunks.at(done)),
            size=total(chunks.start, chunks.end),
            seconds_per_chunk=seconds,
        )

    def left(self, done: int) -> tuple[SourcePart, ...]:
        """Return what is left of each source when so many chunks are done."""
        start, end = self.chunks.at(done), self.chunks.end
        return source_parts(start, end, self.known.available)


def prepare(
    spark: SparkSession, declared: Declared, request: BackfillRequest, *, undone: ExitStack
) -> Prepared:
    """Find out what a backfill would do; nothing is created or changed.

    Args:
        spark: The session.
        declared: The stream.
        request: The range.
        undone: Closes what was opened.

    Raises:
        BackfillRefusedError: The stream, its sinks or the range cannot be backfilled.
        ConfigError: The range is not one.
        HoldfastError: The record, a ledger or a source cannot be read.
    """
    check_session(spark)
    if port_of(spark).runs_functions_elsewhere:
        check_sendable(declared.sinks, spark)
    known = find_stream(spark, declared, request.root, undone=undone)
    name, start, end = _range(known, request)
    record = writer_of(spark, backfill_location(known.place.record.location, name))
    mode = declared.options["outputMode"]
    sinks = resolve_sinks(declared.sinks, known.df, stream=name, output_mode=mode, undone=undone)
    labels = tuple(sink.name for sink in sinks)
    kept = read_backfill(record) or _describe(known, (start, end), labels, chunk=request.chunk)
    chunks = _chunks(known, kept, request)
    _refuse_other_sinks(known, kept, labels)
    reader = _reader(known)
    return Prepared(
        known=known,
        name=name,
        record=record,
        kept=kept,
        chunks=chunks,
        reader=reader,
        sinks=sinks,
    )


def _reader(known: KnownStream) -> ChunkReader:
    return ChunkReader(
        spark=known.spark,
        declared=known.declared,
        checkpoint=known.place.checkpoint,
        available=known.available,
    )


def _refuse_other_sinks(known: KnownStream, kept: Backfill, labels: tuple[str, ...]) -> None:
    if labels != kept.sinks:
        why = f"It began with the sinks {', '.join(kept.sinks)}, and the stream has others now."
        how = "Declare the stream with the same sinks until the backfill is done."
        raise BackfillRefusedError(known.name, why=why, how=how)


def _range(known: KnownStream, request: BackfillRequest) -> tuple[str, Position, Position]:
    """Return the name of a backfill, and its range if it has not begun.

    The name is that of what was asked for: `earliest` is another offset tomorrow.
    """
    end = parse_position("--to", request.end, known.position)
    if request.start == EARLIEST:
        earliest = {source: each.oldest for source, each in known.available.items()}
        start, asked = like(beginning(known.position, earliest), end), EARLIEST
    else:
        start = parse_position("--from", request.start, known.position)
        asked = encode_position(start)
    digest = digest_of(known.name, str(known.generation), asked, encode_position(end))
    return backfill_name(known.name, digest), start, end


def _describe(
    known: KnownStream,
    span: tuple[Position, Position],
    sinks: tuple[str, ...],
    *,
    chunk: int | None,
) -> Backfill:
    """Return what the record of a new backfill says.

    Raises:
        ConfigError: It is not a range.
    """
    start, end = span
    if (fault := find_fault(start, end)) is not None:
        raise ConfigError(f"This is not a range: {fault}.")
    chunks = count_chunks(start, end, chunk)
    if chunks > MAX_CHUNKS:
        raise ConfigError(f"These are {chunks:,} chunks; give a larger --chunk.")
    return Backfill(
        stream=known.name,
        generation=known.generation,
        start=encode_position(start),
        end=encode_position(end),
        chunks=chunks,
        sinks=sinks,
        began_at=clock.now().isoformat(timespec="seconds"),
    )


def _chunks(known: KnownStream, kept: Backfill, request: BackfillRequest) -> Chunks:
    start, end = decode_position(kept.start), decode_position(kept.end)
    if start is None or end is None or find_fault(start, end) is not None:
        why = "The record of the backfill holds no range."
        raise BackfillRefusedError(known.name, why=why, how="Move its directory aside.")
    if request.chunk is not None and count_chunks(start, end, request.chunk) != kept.chunks:
        raise BackfillRefusedError(
            known.name,
            why=f"This backfill began with {kept.chunks:,} chunks, and --chunk {request.chunk:,} "
            "gives another number.",
            how="Continue it without --chunk.",
        )
    for source, available in known.available.items():
        offset = end.get(source)
        missing = None if offset is None else available.missing(offset)
        if missing is not None:
            why = f"The topic does not have all of the range: {missing}."
            raise BackfillRefusedError(known.name, why=why, how="End the range where it ends.")
    return Chunks(start=start, end=end, count=kept.chunks)


def _held(sink: SinkWriter, name: str) -> int:
    """Return how many chunks a sink holds."""
    row = None if sink.ledger is None else read_row(sink.ledger, name)
    return 0 if row is None else row.last_batch + 1


def find_doubts(prepared: Prepared, *, done: int) -> tuple[str, ...]:
    """Say why the rows of what is left can be others than the stream would give.

    Args:
        prepared: The backfill.
        done: How many chunks every sink holds.

    Raises:
        BackfillRefusedError: Some of it cannot be read as a batch.
    """
    known, chunks, reader = prepared.known, prepared.chunks, prepared.reader
    # A Delta table that is read from its beginning is a snapshot, and all that follows is not.
    cuts = sorted({done, min(done + 1, chunks.count), chunks.count})
    doubts: dict[str, None] = {}
    for first, last in pairwise(cuts):
        form = reader.read(chunks.at(first), chunks.at(last))
        if isinstance(form, NoBatchForm):
            why = f"The range cannot be read as a batch: {form.reason}."
            how = "Choose a range that can, or reset the stream: holdfast plan reset."
            raise BackfillRefusedError(known.name, why=why, how=how)
        doubts |= dict.fromkeys(form.all_doubts)
    return tuple(doubts)


def find_repeats(prepared: Prepared) -> str | None:
    """Say why a sink that appends may hold rows of the range already; None if none does.

    What the backfill has written itself does not count.
    """
    known, chunks, name = prepared.known, prepared.chunks, prepared.name
    appending = [sink for sink in known.declared.sinks if sink.is_appending]
    if not appending:
        return None
    shown = " and ".join(sink.display_name for sink in appending)
    began = find_beginning(known.spark, known.place, known.position)
    if isinstance(began, UnknownBeginning):
        return f"{began.reason}, so {shown} may hold rows of the range already"
    if not is_before(chunks.start, chunks.end, began=began):
        return (
            f"the stream itself writes all from {encode_position(began)} on, so {shown} holds, or "
            "will get, rows of the range a second time"
        )
    for other, kept in read_backfills(known.place.record).items():
        span = decode_position(kept.start), decode_position(kept.end)
        if other == name or span[0] is None or span[1] is None:
            continue
        is_begun = any(read_row(ledger, other) is not None for ledger in known.ledgers)
        if is_begun and overlaps(chunks.start, chunks.end, other=(span[0], span[1])):
            return f"the backfill {other} writes a part of the range into {shown} too"
    return None
