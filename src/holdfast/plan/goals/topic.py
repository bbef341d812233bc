"""What a Kafka topic still has for a stream that begins again, and what is gone from it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from holdfast.checkpoint.layout import OFFSETS, SOURCES
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.plan.entries import kafka_offset
from holdfast.plan.plan_file import Change
from holdfast.plan.world import StreamNow
from holdfast.sources.kafka.found import KafkaSource
from holdfast.sources.kafka.kind import KafkaOffset, parse_initial_offset, parse_kafka_offset


def oldest_of(found: KafkaSource) -> tuple[dict[str, dict[int, int]], int]:
    """Return the oldest offset of every partition, and how many records there are from there on."""
    first: dict[str, dict[int, int]] = {}
    waiting = 0
    for topic in found.topics:
        for each in topic.partitions:
            if each.earliest is not None and each.latest is not None:
                first.setdefault(topic.name, {})[each.number] = each.earliest
                waiting += each.latest - each.earliest
    return first, waiting


def began_at(source: str, first: Mapping[str, Mapping[int, int]]) -> dict[str, str]:
    """Return the file that says where the first batch of a Kafka source begins.

    A query with state takes no position from a seeded log, and this one it does: the source itself
    reads it, and then `startingOffsets` is not looked at.
    """
    return {f"{SOURCES}/{source}/0": f"\0v1\n{json.dumps(kafka_offset(first))}"}


def find_replaced(found: KafkaSource) -> tuple[Change, ...]:
    """Return what is lost with topics that were deleted, and perhaps created again."""
    again = ", ".join(each.name for each in found.topics if each.is_there and each.is_recreated)
    gone = ", ".join(each.name for each in found.topics if not each.is_there)
    said = (
        (again, f"the topic {again} was created again: what the old one gave is gone for good"),
        (gone, f"the topic {gone} was deleted: what it gave, read or not, is gone for good"),
    )
    return tuple(Change(kind="loses", what=what) for names, what in said if names)


def find_expired(
    now: StreamNow, source: str, first: Mapping[str, Mapping[int, int]]
) -> tuple[Change, ...]:
    """Return what the sinks hold of a topic that is not there any more."""
    path = f"{SOURCES}/{source}/0"
    raw = now.checkpoint.read(path)
    began = None if raw is None else parse_initial_offset(path, raw)
    if began is None or isinstance(began, Unparsed):
        began = _seeded(now, source)
    if began is None and not any(at for each in first.values() for at in each.values()):
        return ()  # the topic has everything it ever had
    if began is None:
        what = "how many records of the topic have expired is not known: where it began is lost"
        return (Change(kind="loses", what=what),)
    gone = sum(
        max(first.get(topic, {}).get(number, offset) - offset, 0)
        for topic, partitions in began.partitions.items()
        for number, offset in partitions.items()
    )
    if not gone:
        return ()
    what = (
        f"up to {gone:,} records that were read before have expired from the topic: gone for good"
    )
    return (Change(kind="loses", what=what, amount=gone),)


def _seeded(now: StreamNow, source: str) -> KafkaOffset | None:
    """Return the position that this generation was seeded with."""
    guard = now.guard
    path = f"{OFFSETS}/0"
    raw = now.checkpoint.read(path)
    entry = None if raw is None else parse_offset_entry(path, BatchId(0), raw)
    if guard is None or guard.generation.first_batch != 1 or not isinstance(entry, OffsetEntry):
        return None
    texts = {each.source: each.text for each in entry.offsets}
    return parse_kafka_offset(texts.get(source) or "")
