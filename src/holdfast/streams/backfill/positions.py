"""Positions in the sources of a stream: written by people, compared, cut into chunks.

A position has the offset of every source that a backfill reads, by its number in the checkpoint or
its name. A range has two: it begins at the first and ends before the second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.checkpoint.sources import parse_offset
from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.kafka import KafkaOffset, Partitions, parse_kafka_offset
from holdfast.checkpoint.text import parse_json, parse_json_object, whole_number
from holdfast.errors import ConfigError
from holdfast.ledger.coverage import canonical

EARLIEST = "earliest"
ReadableOffset = KafkaOffset | DeltaOffset | FileOffset
"""Offsets of sources that can be read again."""
Position = Mapping[str, ReadableOffset]
_PER_CHUNK: Mapping[type[ReadableOffset], int] = {
    KafkaOffset: 100_000,
    DeltaOffset: 100,
    FileOffset: 100,
}


def decode_position(text: str) -> Position | None:
    """Return the position that canonical JSON has; None when a source is of another kind."""
    found: dict[str, ReadableOffset] = {}
    for source, value in (parse_json_object(text) or {}).items():
        offset = parse_offset(value if isinstance(value, str) else canonical(value))
        if not isinstance(offset, ReadableOffset):
            return None
        found[source] = offset
    return found or None


def encode_position(position: Position) -> str:
    """Return a position as canonical JSON, as a ledger row has it."""
    return canonical({source: _value(offset) for source, offset in position.items()})


def _value(offset: ReadableOffset) -> dict[str, Any]:
    match offset:
        case KafkaOffset():
            return {
                topic: {str(partition): at for partition, at in offsets.items()}
                for topic, offsets in offset.partitions.items()
            }
        case DeltaOffset():
            return {
                "sourceVersion": 1,
                "reservoirId": offset.table_id,
                "reservoirVersion": offset.version,
                "index": offset.index,
                "isStartingVersion": offset.initial_snapshot,
            }
        case FileOffset():
            return {"logOffset": offset.log_offset}


def parse_position(option: str, text: str, known: Position) -> Position:
    """Return the position that somebody wrote.

    Args:
        option: What the text was given as, for the error.
        text: Kafka offsets as JSON, a number of a Delta version or an entry of a file log, or an
            object with one of these for each source.
        known: Where the stream is.

    Raises:
        ConfigError: It is none of these, or does not fit the sources.
    """
    value = parse_json(text)
    if len(known) == 1:
        (source,) = known
        offset = _offset(value, known[source])
        if offset is not None:
            return {source: offset}
    if isinstance(value, dict) and value and set(value) <= set(known):
        offsets = {source: _offset(each, known[source]) for source, each in value.items()}
        if (found := {key: each for key, each in offsets.items() if each is not None}) == offsets:
            return found
    raise ConfigError(f"{option} {text!r} is not a position of this stream: {_form(known)}")


def _form(known: Position) -> str:
    forms = {source: _example(offset) for source, offset in known.items()}
    if len(forms) == 1:
        (form,) = forms.values()
        return f"write {form}, or earliest for the start."
    shown = ", ".join(f'"{source}": {form}' for source, form in forms.items())
    return f"it has {len(known)} sources, write {{{shown}}}."


def _example(offset: ReadableOffset) -> str:
    match offset:
        case KafkaOffset():
            return f"the next offset of each partition, such as {json.dumps(_value(offset))}"
        case DeltaOffset():
            return "a version of the Delta table, such as 12"
        case FileOffset():
            return "an entry of the log of files, such as 12"


def _offset(value: object, known: ReadableOffset) -> ReadableOffset | None:
    match known:
        case KafkaOffset():
            return _kafka(value, known)
        case DeltaOffset():
            number = whole_number(value)
            return None if number is None or number < 0 else at_version(known, number)
        case FileOffset():
            number = whole_number(value)
            # Spark's offset names the last entry that was read.
            return None if number is None or number < 0 else FileOffset(log_offset=number - 1)


def _kafka(value: object, known: KafkaOffset) -> KafkaOffset | None:
    found = parse_kafka_offset(canonical(value)) if isinstance(value, dict) else None
    if found is None or not set(found.partitions) <= set(known.partitions):
        return None
    offsets = [at for each in found.partitions.values() for at in each.values()]
    return found if offsets and min(offsets) >= 0 else None


def at_version(table: DeltaOffset, version: int) -> DeltaOffset:
    """Return the position before everything that a version of the same table has added."""
    return DeltaOffset(table_id=table.table_id, version=version, index=-1, initial_snapshot=False)


def beginning(known: Position, earliest: Mapping[str, Partitions]) -> Position:
    """Return the oldest position of each source.

    Args:
        known: Where the stream is.
        earliest: The oldest offsets of each Kafka source that the broker has.
    """
    found: dict[str, ReadableOffset] = {}
    for source, offset in known.items():
        match offset:
            case KafkaOffset():
                found[source] = KafkaOffset(partitions=earliest[source])
            case DeltaOffset():
                found[source] = at_version(offset, 0)
            case FileOffset():
                found[source] = FileOffset(log_offset=-1)
    return found


def like(position: Position, other: Position) -> Position:
    """Return of a position only the sources and partitions that another one has."""
    found: dict[str, ReadableOffset] = {}
    for source, offset in position.items():
        there = other.get(source)
        if isinstance(offset, KafkaOffset) and isinstance(there, KafkaOffset):
            kept = {
                topic: {number: at for number, at in offsets.items() if number in there_too}
                for topic, offsets in offset.partitions.items()
                if (there_too := there.partitions.get(topic))
            }
            found[source] = KafkaOffset(partitions=kept)
        elif there is not None:
            found[source] = offset
    return found


def find_fault(start: Position, end: Position) -> str | None:
    """Say why two positions are not a range; None when they are."""
    if set(start) != set(end):
        return "start and end name different sources"
    before, after = dict(_numbers(start)), dict(_numbers(end))
    if different := sorted(set(before) ^ set(after)):
        return f"start and end do not both name {_shown(different[0])}"
    if backwards := [key for key, at in after.items() if at < before[key]]:
        key = backwards[0]
        return f"{_shown(key)} ends at {after[key]:,}, before its start {before[key]:,}"
    return None if before != after else "it is empty: it ends where it begins"


Key = tuple[str, str, int]
"""A source, a topic, and a partition; of other sources than Kafka the source alone counts."""


def _numbers(position: Position) -> Iterator[tuple[Key, int]]:
    for source, offset in position.items():
        match offset:
            case KafkaOffset():
                for topic, offsets in offset.partitions.items():
                    for partition, at in offsets.items():
                        yield (source, topic, partition), at
            case DeltaOffset():
                yield (source, "", 0), offset.version
            case FileOffset():
                yield (source, "", 0), offset.log_offset + 1


def _shown(key: Key) -> str:
    source, topic, partition = key
    return f"partition {partition} of {topic}" if topic else f"source {source}"


def sizes(start: Position, end: Position) -> dict[str, int]:
    """Return how much of each source is in a range: offsets, versions, entries of a file log."""
    before = dict(_numbers(start))
    found = dict.fromkeys(end, 0)
    for key, at in _numbers(end):
        found[key[0]] += at - before[key]
    return found


def total(start: Position, end: Position) -> int:
    """Return how much a range has, over all sources."""
    return sum(sizes(start, end).values())


def count_chunks(start: Position, end: Position, chunk: int | None) -> int:
    """Return into how many chunks a range is cut.

    Args:
        start: Of the range.
        end: Of the range.
        chunk: How much of each source a chunk has at most; None for what suits the source.
    """
    most = 1
    for source, size in sizes(start, end).items():
        most = max(most, -(-size // (chunk or _PER_CHUNK[type(end[source])])))
    return most


def boundary(start: Position, end: Position, *, number: int, chunks: int) -> Position:
    """Return where a chunk begins, and the one before it ends."""
    return {
        source: _between(start[source], offset, number=number, chunks=chunks)
        for source, offset in end.items()
    }


def _between(
    start: ReadableOffset, end: ReadableOffset, *, number: int, chunks: int
) -> ReadableOffset:
    def part(first: int, last: int) -> int:
        return first + (last - first) * number // chunks

    match start, end:
        case KafkaOffset(), KafkaOffset():
            partitions = {
                topic: {
                    partition: part(start.partitions[topic][partition], at)
                    for partition, at in offsets.items()
                }
                for topic, offsets in end.partitions.items()
            }
            return KafkaOffset(partitions=partitions)
        case FileOffset(), FileOffset():
            return FileOffset(log_offset=part(start.log_offset, end.log_offset))
        case DeltaOffset(), DeltaOffset():
            return at_version(end, part(start.version, end.version))
        case _:
            raise TypeError(f"{start} and {end} are of different kinds")


def overlaps(start: Position, end: Position, *, other: tuple[Position, Position]) -> bool:
    """Return whether two ranges have something in common."""
    before, after = dict(_numbers(other[0])), dict(_numbers(other[1]))
    begins = dict(_numbers(start))
    return any(
        max(begins[key], before[key]) < min(at, after[key])
        for key, at in _numbers(end)
        if key in after and key in before
    )


def is_before(start: Position, end: Position, *, began: Position) -> bool:
    """Return whether a range ends before a stream began, in every partition that it reads."""
    begins, limits = dict(_numbers(start)), dict(_numbers(began))
    # A partition that the stream did not begin with was added later, and is read from its start.
    return all(at <= limits.get(key, 0) for key, at in _numbers(end) if begins[key] < at)


def digest_of(*parts: str) -> str:
    """Return a digest of texts."""
    return hashlib.sha256(canonical(parts).encode()).hexdigest()
