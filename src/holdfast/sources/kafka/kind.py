"""Kafka's offsets, and where its first batch began.

Offset, from Spark 4.2 `connector/kafka-0-10-sql/…/JsonUtils.scala`: per topic and partition the
next offset to read.

    {"<topic>":{"<partition>":<offset>}}

`sources/<i>/0`, from `KafkaSourceInitialOffsetWriter.scala`: where the first run began.

    <byte 0>v1
    <offset>

Azure Event Hubs writes offsets of the same shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec

from holdfast.checkpoint.text import canonical, split_lines
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.sources.kind import (
    Amount,
    Behind,
    DescribedSource,
    Offset,
    Part,
    SourceKind,
    in_brackets,
)
from holdfast.wording import count

Partitions = Mapping[str, Mapping[int, int]]

# One typed decoding: a topic can have a million partitions, and generic objects would weigh thrice.
# Numbers are Java's long: a larger one is damage.
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_DECODER = msgspec.json.Decoder(dict[str, dict[_Long, _Long]])
_SHOWN_TOPICS = 3


class Kafka(SourceKind):
    """Topics of Kafka."""

    name = "kafka"
    label = "kafka"
    unit = "record"
    asks = "holdfast.sources.kafka.client:ask_broker"
    ranges = "holdfast.sources.kafka.ranges:kafka_range"
    behind = Behind.READS_AGAIN
    keeps_beginning = True
    per_chunk = 100_000
    parts_unit = "offsets"
    seeds_oldest = True
    takes_position = True
    continues_by_offset = True

    def parse(self, text: str) -> KafkaOffset | None:
        """Read Kafka's offset."""
        return parse_kafka_offset(text)

    def describe_source(self, description: str) -> DescribedSource | None:
        """Read `KafkaV2[Subscribe[orders, returns]]`; assigned partitions are not told by it."""
        inside = in_brackets(description, "KafkaV2") or ""
        topics, pattern = (in_brackets(inside, each) for each in ("Subscribe", "SubscribePattern"))
        if topics is not None:
            return _subscribed(each.strip() for each in topics.split(","))
        if pattern is not None:
            return DescribedSource(name=f"kafka {pattern}", options={"subscribePattern": pattern})
        return None

    def parse_beginning(self, path: str, raw: bytes) -> KafkaOffset | Unparsed:
        """Read `sources/<i>/0`."""
        return parse_initial_offset(path, raw)

    def parse_position(self, value: object, known: Offset) -> KafkaOffset | None:
        """Read offsets of topics that the stream reads."""
        found = parse_kafka_offset(canonical(value)) if isinstance(value, dict) else None
        topics = {topic for topic, _ in known.numbers()}
        if found is None or not set(found.partitions) <= topics:
            return None
        numbers = found.numbers().values()
        return found if numbers and min(numbers) >= 0 else None

    def example(self, known: Offset) -> str:
        """Show where the stream is."""
        return f"the next offset of each partition, such as {json.dumps(known.to_json())}"


def _subscribed(topics: Iterable[str]) -> DescribedSource:
    listed = ",".join(topics)
    return DescribedSource(name=f"kafka {listed}", options={"subscribe": listed})


KAFKA = Kafka()
KINDS = (KAFKA,)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOffset(Offset):
    """The next offset to read, per topic and partition."""

    kind: ClassVar[SourceKind] = KAFKA
    partitions: Partitions

    @property
    def partition_count(self) -> int:
        """How many partitions it names."""
        return sum(len(offsets) for offsets in self.partitions.values())

    @property
    def named(self) -> str:
        """Name the topics."""
        names = sorted(self.partitions)
        more = f" and {len(names) - _SHOWN_TOPICS} more" if len(names) > _SHOWN_TOPICS else ""
        return f"kafka {', '.join(names[:_SHOWN_TOPICS])}{more}"

    def describe(self, source: str) -> str:
        """Say how many partitions there are, and one number that grows."""
        total = sum(each for part in self.partitions.values() for each in part.values())
        return f"{count(self.partition_count, 'partition')}, offsets add up to {total:,}"

    @property
    def identities(self) -> tuple[str, ...]:
        """Return its topics."""
        return tuple(f"topic {topic}" for topic in self.partitions)

    @property
    def described(self) -> DescribedSource:
        """Return its topics, as if they were subscribed by their names."""
        return _subscribed(self.partitions)

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return it with texts as keys."""
        return {
            topic: {str(number): at for number, at in offsets.items()}
            for topic, offsets in self.partitions.items()
        }

    def numbers(self) -> Mapping[Part, int]:
        """Return the next offset of every partition."""
        return {
            (topic, number): at
            for topic, offsets in self.partitions.items()
            for number, at in offsets.items()
        }

    def at(self, numbers: Mapping[Part, int]) -> KafkaOffset:
        """Return other offsets, in the order of these."""
        partitions: dict[str, dict[int, int]] = {}
        for (topic, number), at in numbers.items():
            partitions.setdefault(topic, {})[number] = at
        return KafkaOffset(partitions=partitions)

    def measure(self, start: Offset | None, *, is_first: bool = False) -> Amount | None:
        """Count the offsets in between."""
        records = count_records(start, self) if isinstance(start, KafkaOffset) else None
        return None if records is None else Amount(number=records, unit=KAFKA.unit)


def parse_kafka_offset(text: str) -> KafkaOffset | None:
    """Read Kafka's offset; None when the text is not one."""
    try:
        partitions = _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return KafkaOffset(partitions=partitions) if partitions else None


def parse_initial_offset(path: str, raw: bytes) -> KafkaOffset | Unparsed:
    """Read `sources/<i>/0` of a Kafka source."""
    if not raw.startswith(b"\0"):
        return Unparsed(path=path, reason="it does not begin with the byte 0")
    lines = split_lines(raw[1:])
    if lines is None:
        return Unparsed(path=path, reason="it is not UTF-8 text")
    # Spark 2.1.0 wrote no version line.
    if lines and lines[0] == "v1":
        lines = lines[1:]
    offset = parse_kafka_offset(lines[0]) if len(lines) == 1 else None
    if offset is None:
        return Unparsed(path=path, reason="it holds no offsets per topic and partition")
    return offset


def count_records(start: KafkaOffset | None, end: KafkaOffset) -> int | None:
    """Return how many offsets lie between two entries; None when that cannot be told.

    A partition that the start does not name is new, and where it began is not in the entry. One
    that went back, or is gone, was deleted or made again: what is read of it is not there either.
    """
    if start is None:
        return None
    total = 0
    for topic, offsets in end.partitions.items():
        before: Mapping[int, Any] = start.partitions.get(topic, {})
        if offsets.keys() != before.keys():
            return None
        steps = [offset - before[partition] for partition, offset in offsets.items()]
        if min(steps, default=0) < 0:
            return None
        total += sum(steps)
    return total
