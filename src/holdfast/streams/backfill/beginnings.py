"""Where a stream began to read: what is older was never written by it.

A stream reads everything from there on, now or later. So only a range that ends before it is known
to be missing from the stream's sinks. Every generation counts, because a reset can keep the rows
that are there.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from holdfast.checkpoint.layout import OFFSETS, SOURCES
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.whole import read_whole
from holdfast.ids import BatchId
from holdfast.record.contracts import read_contract
from holdfast.record.generations import OPENED, RESET, Generation, read_generations
from holdfast.record.runs import first_run
from holdfast.sinks.session import reader_of
from holdfast.sources.kind import Offset
from holdfast.sources.registry import offsets_of
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.streams.backfill.positions import Position
from holdfast.streams.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class UnknownBeginning(msgspec.Struct, frozen=True):
    """Why it is not known where a stream began."""

    reason: str


def find_beginning(
    spark: SparkSession, place: Place, known: Position
) -> Position | UnknownBeginning:
    """Return where a stream began to read each source, in the oldest of its generations.

    Args:
        spark: The session.
        place: Of the stream.
        known: Where the stream is.

    Raises:
        ReadError, RecordError: The record or a checkpoint cannot be read.
    """
    found: dict[str, Offset] = {}
    generations = tuple(read_generations(place.record))
    for source, offset in known.items():
        began = []
        for each in generations:
            reader = reader_of(spark, parse_location(each.checkpoint))
            at = _begin(each, reader, place.record, of=(source, offset))
            if at is None:
                reason = f"where generation {each.number} began to read source {source} is unknown"
                return UnknownBeginning(reason)
            began.append(at)
        found[source] = reduce(_older, began)
    return found


def _begin(
    generation: Generation, checkpoint: Reader, record: Reader, *, of: tuple[str, Offset]
) -> Offset | None:
    source, known = of
    if known.kind.keeps_beginning:
        return _kept(generation, checkpoint, source, known=known)
    if known.log_index is not None:
        return known.kind.by_options({}, known)
    return _by_options(generation, record, source, known=known)


def _kept(
    generation: Generation, checkpoint: Reader, source: str, *, known: Offset
) -> Offset | None:
    """Return where a source that writes it down says that it began."""
    path = f"{SOURCES}/{source}/0"
    raw = read_whole(checkpoint, path)
    if isinstance(raw, bytes):
        found = known.kind.parse_beginning(path, raw)
        return found if isinstance(found, Offset) else None
    return _seed(checkpoint, source, known) if raw is None and generation.why == RESET else None


def _seed(checkpoint: Reader, source: str, known: Offset) -> Offset | None:
    """Return the position that a reset gave a generation."""
    path = f"{OFFSETS}/0"
    raw = read_whole(checkpoint, path)
    entry = parse_offset_entry(path, BatchId(0), raw) if isinstance(raw, bytes) else None
    return offsets_of(entry, type(known)).get(source) if isinstance(entry, OffsetEntry) else None


def _by_options(
    generation: Generation, record: Reader, source: str, *, known: Offset
) -> Offset | None:
    """Return the position that the first run named in its options."""
    run = first_run(record, generation=generation.number)
    contract = None if run is None else read_contract(record, run.contract)
    is_known = contract is not None and source.isdecimal() and generation.why == OPENED
    if contract is None or not is_known or int(source) >= len(contract.source_options):
        return None
    return known.kind.by_options(contract.source_options[int(source)], known)


def _older(one: Offset, other: Offset) -> Offset:
    """Return the older one; a part that one of them lacks was read from its start by that one."""
    there = other.numbers()
    return one.at(
        {part: min(at, there[part]) for part, at in one.numbers().items() if part in there}
    )
