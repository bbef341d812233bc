"""What the rules about Kafka share: sources that were looked at, and how partitions are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from holdfast.evidence.case import Case
from holdfast.sources.kafka.found import KafkaPartition, KafkaSource, KafkaTopic
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.registry import offsets_of

_SHOWN = 5
Place = tuple[KafkaTopic, KafkaPartition]


def kafka_sources(case: Case) -> Iterator[KafkaSource]:
    """Yield every Kafka source that was looked at, of a query that has planned a batch."""
    if case.newest_planned >= 0:
        yield from (each.found for each in case.sources if isinstance(each.found, KafkaSource))


def places_where(source: KafkaSource, holds: Callable[[Place], bool]) -> list[Place]:
    """Return the partitions for which something holds."""
    found = [(topic, each) for topic in source.topics for each in topic.partitions]
    return [place for place in found if holds(place)]


def name_of(place: Place) -> tuple[str, int]:
    """Return the topic's name and the partition's number."""
    topic, each = place
    return topic.name, each.number


def planned_partitions(case: Case) -> set[tuple[str, int]]:
    """Return the partitions that the newest offset entry names, also of a pending batch."""
    entry = case.checkpoint.newest_readable
    offsets = {} if entry is None else offsets_of(entry, KafkaOffset)
    return {part for each in offsets.values() for part in each.numbers()}


def tell_places(places: Sequence[Place], what: Callable[[KafkaPartition], object]) -> str:
    """Return `sensors-0 (12), sensors-1 (7)`, and how many more there are."""
    shown = [f"{topic.name}-{each.number} ({what(each)})" for topic, each in places[:_SHOWN]]
    more = len(places) - _SHOWN
    return ", ".join(shown) + (f" and {more:,} more partitions" if more > 0 else "")


def follows_from(case: Case, source: KafkaSource) -> tuple[str, ...]:
    """Return what a finding about a source was read from."""
    return (f"offsets/{case.newest_planned}", f"the broker's answer about {source.display_name}")
