"""Offsets of Kafka from one position to another, and how they are read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.checkpoint.layout import SOURCES
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.sources.kafka.kind import KafkaOffset, Partitions, parse_initial_offset
from holdfast.sources.kind import Offset, Part
from holdfast.sources.ranges import Interval, SourceRange, join_intervals
from holdfast.sources.reading import Make, NoBatchForm, Opening
from holdfast.storage.read import Reader

_KAFKA_ONLY_STREAMING = (
    *("maxoffsetspertrigger", "minoffsetspertrigger", "maxtriggerdelay"),
    *("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp"),
    *("startingoffsetsbytimestampstrategy", "endingoffsets", "endingtimestamp"),
    *("subscribe", "subscribepattern", "assign"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRange(SourceRange):
    """Per topic and partition, the offsets from start up to but not including end."""

    start: Partitions
    end: Partitions
    """Of the same topics and partitions."""

    @property
    def records(self) -> int:
        """How many offsets it spans; a topic with transactions has fewer records."""
        return sum(
            offset - self.start[topic][partition]
            for topic, offsets in self.end.items()
            for partition, offset in offsets.items()
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return self.records == 0

    @property
    def begins_later(self) -> object:
        """Where it begins, unless every partition begins with offset 0."""
        return (
            self.start if any(at for each in self.start.values() for at in each.values()) else None
        )

    def given(self, end: Offset) -> tuple[object, object]:
        """Return the offsets of every partition."""
        return self.start, self.end

    def without_expired(self, earliest: Mapping[Part, int]) -> KafkaRange:
        """Return it from the oldest offsets on that the broker has."""
        start = {
            topic: {
                number: min(max(at, earliest[topic, number]), self.end[topic][number])
                for number, at in offsets.items()
            }
            for topic, offsets in self.start.items()
        }
        return KafkaRange(start=start, end=self.end)

    def merge(self, others: Sequence[SourceRange]) -> Sequence[SourceRange]:
        """Join the offsets of every partition."""
        partitions: dict[tuple[str, int], list[Interval]] = {}
        for each in others:
            assert isinstance(each, KafkaRange)
            for topic, offsets in each.end.items():
                for number, end in offsets.items():
                    span = (each.start[topic][number], end)
                    partitions.setdefault((topic, number), []).append(span)
        joined = {key: join_intervals(spans) for key, spans in partitions.items()}
        count = max((len(spans) for spans in joined.values()), default=0)
        return [_nth(joined, at) for at in range(count)]

    def open(self, opening: Opening) -> Make | NoBatchForm:
        """Read the offsets of the same partitions with Spark's batch reader."""
        reading, spark = opening.reading, opening.spark
        if (reading.format or "").lower() != "kafka":
            return NoBatchForm(
                f"the checkpoint has Kafka offsets, and the code reads {reading.format}"
            )
        partitions = {topic: sorted(offsets) for topic, offsets in self.end.items()}
        options = {
            **reading.without(_KAFKA_ONLY_STREAMING),
            "assign": json.dumps(partitions),
            "startingOffsets": json.dumps(self.start),
            "endingOffsets": json.dumps(self.end),
        }
        return lambda: spark.read.format("kafka").options(**options).load()


def _nth(joined: dict[tuple[str, int], list[Interval]], at: int) -> KafkaRange:
    start: dict[str, dict[int, int]] = {}
    end: dict[str, dict[int, int]] = {}
    for (topic, number), spans in joined.items():
        if at < len(spans):
            start.setdefault(topic, {})[number] = spans[at][0]
            end.setdefault(topic, {})[number] = spans[at][1]
    return KafkaRange(start=start, end=end)


def kafka_range(
    reader: Reader, source: str, *, start: Offset | None, end: Offset
) -> KafkaRange | str:
    """Return the offsets between two; a text says why they are not known."""
    assert isinstance(end, KafkaOffset)
    begins: Offset | Unparsed | None = start
    if begins is None:
        path = f"{SOURCES}/{source}/0"
        raw = read_whole(reader, path)
        begins = parse_initial_offset(path, raw) if isinstance(raw, bytes) else raw
    if not isinstance(begins, KafkaOffset):
        why = begins.reason if isinstance(begins, Unparsed) else "it is not there"
        return f"where it began is not known: {SOURCES}/{source}/0: {why}"
    known: dict[str, dict[int, int]] = {}
    for topic, offsets in end.partitions.items():
        before = begins.partitions.get(topic, {})
        # A partition that was added later is read from its beginning, which is 0.
        known[topic] = {partition: before.get(partition, 0) for partition in offsets}
        for partition, offset in offsets.items():
            if offset < known[topic][partition]:
                return (
                    f"partition {partition} of {topic} ends at {offset:,}, before it begins at "
                    f"{known[topic][partition]:,}: it was deleted and created again"
                )
    return KafkaRange(start=known, end=end.partitions)
