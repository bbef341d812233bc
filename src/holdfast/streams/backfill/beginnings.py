"""Where a stream began to read: what is older was never written by it.

A stream reads everything from there on, now or later. So only a range that ends before it is known
to be missing from the stream's sinks. Every generation counts, because a reset can keep the rows
that are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from holdfast.checkpoint.layout import OFFSETS, SOURCES
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.sources import parse_offset
from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.kafka import KafkaOffset, parse_initial_offset
from holdfast.checkpoint.whole import read_whole
from holdfast.ids import BatchId
from holdfast.record.contracts import read_contract
from holdfast.record.generations import OPENED, RESET, Generation, read_generations
from holdfast.record.runs import first_run
from holdfast.sinks.session import reader_of
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.streams.backfill.positions import Position, ReadableOffset, at_version
from holdfast.streams.place import Place


@dataclass(frozen=True, slots=True)
class UnknownBeginning:
    """Why it is not known where a stream began."""

    reason: str


def find_beginning(spark: Any, place: Place, known: Position) -> Position | UnknownBeginning:
    """Return where a stream began to read each source, in the oldest of its generations.

    Args:
        spark: The session.
        place: Of the stream.
        known: Where the stream is.

    Raises:
        ReadError, RecordError: The record or a checkpoint cannot be read.
    """
    found: dict[str, ReadableOffset] = {}
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
    generation: Generation, checkpoint: Reader, record: Reader, *, of: tuple[str, ReadableOffset]
) -> ReadableOffset | None:
    source, known = of
    match known:
        case KafkaOffset():
            return _kafka(generation, checkpoint, source)
        case DeltaOffset():
            return _delta(generation, record, source, known=known)
        case FileOffset():
            return FileOffset(log_offset=-1)  # of the log that the stream itself writes


def _kafka(generation: Generation, checkpoint: Reader, source: str) -> KafkaOffset | None:
    path = f"{SOURCES}/{source}/0"
    raw = read_whole(checkpoint, path)
    if isinstance(raw, bytes):
        found = parse_initial_offset(path, raw)
        return found if isinstance(found, KafkaOffset) else None
    return _seed(checkpoint, source) if raw is None and generation.why == RESET else None


def _seed(checkpoint: Reader, source: str) -> KafkaOffset | None:
    """Return the position that a reset gave a generation."""
    path = f"{OFFSETS}/0"
    raw = read_whole(checkpoint, path)
    entry = parse_offset_entry(path, BatchId(0), raw) if isinstance(raw, bytes) else None
    if not isinstance(entry, OffsetEntry):
        return None
    texts: Iterable[str | None] = (each.text for each in entry.offsets if each.source == source)
    text = next(iter(texts), None)
    offset = None if text is None else parse_offset(text)
    return offset if isinstance(offset, KafkaOffset) else None


def _delta(
    generation: Generation, record: Reader, source: str, *, known: DeltaOffset
) -> DeltaOffset | None:
    """Return the version that the first run named: Delta writes it down nowhere."""
    run = first_run(record, generation=generation.number)
    contract = None if run is None else read_contract(record, run.contract)
    is_known = contract is not None and source.isdecimal() and generation.why == OPENED
    if contract is None or not is_known or int(source) >= len(contract.source_options):
        return None
    options = contract.source_options[int(source)]
    given = options.get("startingVersion", "0")
    if "startingTimestamp" in options or not given.isdecimal():
        return None
    return at_version(known, int(given))


def _older(one: ReadableOffset, other: ReadableOffset) -> ReadableOffset:
    match one, other:
        case KafkaOffset(), KafkaOffset():
            # A partition that one of them lacks was read from its start by that one.
            partitions = {
                topic: {
                    number: min(at, there[number])
                    for number, at in offsets.items()
                    if number in there
                }
                for topic, offsets in one.partitions.items()
                if (there := other.partitions.get(topic, {}))
            }
            return KafkaOffset(partitions=partitions)
        case DeltaOffset(), DeltaOffset():
            return min(one, other, key=lambda each: each.version)
        case _:
            return one
