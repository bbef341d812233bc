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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from holdfast.checkpoint.text import split_lines
from holdfast.checkpoint.unparsed import Unparsed

Partitions = Mapping[str, Mapping[int, int]]

# One typed decoding: a topic can have a million partitions, and generic objects would weigh thrice.
# Numbers are Java's long: a larger one is damage.
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_DECODER = msgspec.json.Decoder(dict[str, dict[_Long, _Long]])


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOffset:
    """The next offset to read, per topic and partition."""

    partitions: Partitions

    @property
    def partition_count(self) -> int:
        """How many partitions it names."""
        return sum(len(offsets) for offsets in self.partitions.values())


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
