"""Asks a Kafka broker about the topics that a checkpoint names, and compares.

Only these topics, and those that the query subscribes to by name, are asked about. Nothing is
written: no consumer group, no committed offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Protocol

import msgspec
from msgspec.structs import replace

from holdfast import clock
from holdfast.printable import printable
from holdfast.sources.kafka.found import (
    KafkaPartition,
    KafkaQuery,
    KafkaSource,
    KafkaTopic,
)
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.wording import duration

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""What Kafka allows: a name from a file must not reach the broker otherwise."""
_NO_ID = "A" * 22
"""Zero: the broker has no ids. After an upgrade it has, and the topic is the same."""
_SHOWN_TOPICS = 3
Place = tuple[str, int]
"""A topic and a partition of it."""


class TopicAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a broker says of one topic."""

    topic_id: str | None
    ranges: Mapping[int, tuple[int, int]]
    """Of each partition its earliest and its latest offset."""
    retention_ms: int | None = None
    retention_bytes: int | None = None


class RecordTime(msgspec.Struct, frozen=True, kw_only=True):
    """The first record that is found from an offset on."""

    offset: int
    timestamp_ms: int


class CannotAskError(Exception):
    """A broker did not answer, or not in time; the text is a reason without a full stop."""


class KafkaClient(Protocol):
    """Asks a broker, within a bounded time."""

    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicAnswer]:
        """Return what the broker has; a topic that does not exist is left out.

        Raises:
            CannotAskError: The broker did not answer, or not to us.
        """

    def times(self, offsets: Mapping[Place, int]) -> Mapping[Place, RecordTime]:
        """Return the first record from each offset on, as far as they can be read in time."""


class _Times(msgspec.Struct, frozen=True, kw_only=True):
    oldest_needed: Mapping[Place, RecordTime] = msgspec.field(default_factory=dict)
    last_read: Mapping[Place, RecordTime] = msgspec.field(default_factory=dict)


def probe_kafka(
    source: str,
    needed: KafkaOffset,
    client: KafkaClient,
    *,
    recorded: Mapping[str, str] | str,
    query: KafkaQuery | None = None,
) -> SourceProbe:
    """Ask a broker what it still has of what a checkpoint needs.

    Args:
        source: Its place in the offset entries.
        needed: Where the next batch begins: the start of a pending batch, else the newest end.
        client: Asks the broker.
        recorded: The id of each topic at the last guarded run; empty when it recorded none. A text
            says why they could not be read.
        query: What the options of the query say; None when they are not known.
    """
    query = query or KafkaQuery()
    names = sorted({*needed.partitions, *(query.subscribed or ())})
    display_name = _show(names)
    strange = [each for each in names if not _TOPIC.fullmatch(each)]
    if strange:
        why = f"{printable(strange[0])!r} is not a name that a topic of Kafka can have"
        return SourceProbe(source=source, display_name=display_name, found=NotProbed(why=why))
    try:
        answers = client.describe(names)
        topics = [_compare(name, needed, answers.get(name)) for name in names]
        times = _ask_times(topics, client)
    except CannotAskError as error:
        return SourceProbe(
            source=source, display_name=display_name, found=NotProbed(why=str(error))
        )
    ids, unread = ({}, recorded) if isinstance(recorded, str) else (recorded, None)
    seen = tuple(_with(each, times, recorded=ids, query=query) for each in topics)
    return _probe_of(source, display_name, topics=seen, query=query, ids_unread=unread)


def _probe_of(
    source: str,
    display_name: str,
    *,
    topics: tuple[KafkaTopic, ...],
    query: KafkaQuery,
    ids_unread: str | None,
) -> SourceProbe:
    found = KafkaSource(
        display_name=display_name,
        topics=topics,
        fail_on_data_loss=query.fail_on_data_loss,
        starting_offsets=query.starting_offsets,
        starting_before=query.starting_before,
        ids_unread=ids_unread,
    )
    now = clock.now()
    left = found.lossless_for(now)
    return SourceProbe(
        source=source,
        display_name=display_name,
        found=found,
        lossless_for=left,
        lossless_by=_tell_limit(found, left, now),
    )


def read_retention(settings: Mapping[str, str | None]) -> dict[str, int]:
    """Return the limits among the settings of a topic; one that only compacts has none."""
    if "delete" not in (settings.get("cleanup.policy") or "delete"):
        return {"retention.ms": -1, "retention.bytes": -1}
    found = {}
    for name in ("retention.ms", "retention.bytes"):
        value = settings.get(name) or ""
        if re.fullmatch(r"-?[0-9]{1,19}", value):
            found[name] = int(value)
    return found


def _show(names: list[str]) -> str:
    display_name = ",".join(map(printable, names[:_SHOWN_TOPICS]))
    more = len(names) - _SHOWN_TOPICS
    return f"kafka {display_name} and {more} more" if more > 0 else f"kafka {display_name}"


def _compare(name: str, needed: KafkaOffset, answer: TopicAnswer | None) -> KafkaTopic:
    wanted = needed.partitions.get(name, {})
    ranges = {} if answer is None else answer.ranges
    partitions = []
    for number in sorted({*wanted, *ranges}):
        earliest, latest = ranges.get(number, (None, None))
        partitions.append(
            KafkaPartition(
                number=number, needed=wanted.get(number), earliest=earliest, latest=latest
            )
        )
    return KafkaTopic(
        name=name,
        is_there=answer is not None,
        topic_id=None if answer is None or answer.topic_id == _NO_ID else answer.topic_id,
        retention_ms=None if answer is None else answer.retention_ms,
        retention_bytes=None if answer is None else answer.retention_bytes,
        partitions=tuple(partitions),
    )


def _ask_times(topics: list[KafkaTopic], client: KafkaClient) -> _Times:
    """Ask for the oldest record that is needed, and for the one that was read last."""
    needed: dict[Place, int] = {}
    before: dict[Place, int] = {}
    for topic in topics:
        for each in topic.partitions:
            if each.needed is None or each.earliest is None or each.latest is None:
                continue
            place = (topic.name, each.number)
            if each.is_waiting:
                needed[place] = max(each.needed, each.earliest)
            if each.earliest <= each.needed - 1 < each.latest:
                before[place] = each.needed - 1
    return _Times(
        oldest_needed=client.times(needed) if needed else {},
        last_read=client.times(before) if before else {},
    )


def _with(
    topic: KafkaTopic, times: _Times, *, recorded: Mapping[str, str], query: KafkaQuery
) -> KafkaTopic:
    partitions = []
    for each in topic.partitions:
        place = (topic.name, each.number)
        oldest, last = times.oldest_needed.get(place), times.last_read.get(place)
        # In a compacted topic the record before may be gone, and a later one is found.
        is_before = last is not None and each.needed is not None and last.offset < each.needed
        partitions.append(
            replace(
                each,
                oldest_needed_ms=oldest.timestamp_ms if oldest else None,
                last_read_ms=last.timestamp_ms if last and is_before else None,
            )
        )
    return replace(
        topic,
        recorded_id=recorded.get(topic.name),
        is_subscribed=None if query.subscribed is None else topic.name in query.subscribed,
        partitions=tuple(partitions),
    )


def _tell_limit(found: KafkaSource, left: timedelta | None, now: datetime) -> str:
    """Say what the time that is left follows from; empty when it is not known."""
    if found.has_lost:
        return "what the checkpoint needs is not there any more"
    dated = [(date, each) for each in found.topics if (date := each.expires_at) is not None]
    if left is None or not dated:
        return ""
    date, first = min(dated, key=lambda pair: pair[0])
    kept = timedelta(milliseconds=first.retention_ms or 0)
    because = (
        f"{first.name} keeps records for {duration(kept)}, and the oldest one that is needed "
        f"is {duration(now - (date - kept))} old"
    )
    has_limit = first.retention_bytes is not None and first.retention_bytes >= 0
    return f"{because}; its limit by size can delete them earlier" if has_limit else because
