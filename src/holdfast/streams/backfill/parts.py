"""How much a range has of each source, and how much of that is still there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.streams.backfill.available import Available
from holdfast.streams.backfill.plan import PartRange, SourcePart
from holdfast.streams.backfill.positions import Position


def source_parts(
    start: Position, end: Position, available: Mapping[str, Available]
) -> tuple[SourcePart, ...]:
    """Return what a range has of each source."""
    found = []
    for source, after in end.items():
        before = start[source]
        match before, after:
            case KafkaOffset(), KafkaOffset():
                parts = tuple(_partitions(before, after, available[source]))
                found.append(SourcePart(source=source, unit="offsets", parts=parts))
            case DeltaOffset(), DeltaOffset():
                one = PartRange(shown="versions", start=before.version, end=after.version)
                found.append(SourcePart(source=source, unit="versions", parts=(one,)))
            case FileOffset(), FileOffset():
                first, last = before.log_offset + 1, after.log_offset + 1
                one = PartRange(shown="entries of the file log", start=first, end=last)
                found.append(SourcePart(source=source, unit="entries", parts=(one,)))
            case _:
                raise TypeError(f"{before} and {after} are of different kinds")
    return tuple(found)


def _partitions(start: KafkaOffset, end: KafkaOffset, available: Available) -> Iterator[PartRange]:
    for topic, offsets in sorted(end.partitions.items()):
        for number, at in sorted(offsets.items()):
            begins = start.partitions[topic][number]
            oldest = available.earliest.get(topic, {}).get(number, begins)
            yield PartRange(
                shown=f"{topic}/{number}",
                start=begins,
                end=at,
                expired=max(min(oldest, at) - begins, 0),
            )
