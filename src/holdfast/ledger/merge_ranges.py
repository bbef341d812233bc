"""Ranges of several lives of a stream as one: nothing of a source is in them twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from holdfast.ledger.source_ranges import (
    DeltaRange,
    FileRange,
    KafkaRange,
    NoRange,
    Ranges,
    SourceRange,
)

Interval = tuple[int, int]
"""From the first number up to but not including the second."""


def merge_ranges(parts: Sequence[Ranges]) -> tuple[Ranges, ...] | NoRange:
    """Return ranges that together have all of others, each record once.

    More than one where something in between is in none of them.

    Args:
        parts: Ranges, which may overlap.
    """
    sources = dict.fromkeys(source for part in parts for source in part)
    found: dict[str, Sequence[SourceRange]] = {}
    for source in sources:
        ranges = [part[source] for part in parts if source in part]
        merged = _merge(source, ranges)
        if isinstance(merged, NoRange):
            return merged
        found[source] = merged
    rows = zip_longest(*found.values())
    return tuple(
        {source: each for source, each in zip(found, row, strict=True) if each is not None}
        for row in rows
    )


def _merge(source: str, ranges: list[SourceRange]) -> Sequence[SourceRange] | NoRange:
    files = [each for each in ranges if isinstance(each, FileRange)]
    tables = [each for each in ranges if isinstance(each, DeltaRange)]
    topics = [each for each in ranges if isinstance(each, KafkaRange)]
    if len(files) == len(ranges):
        return [FileRange(files=tuple(sorted({path for each in files for path in each.files})))]
    if len(topics) == len(ranges):
        return _topics(topics)
    if len(tables) < len(ranges) or len({each.table_id for each in tables}) > 1:
        return NoRange(source=source, reason="it was replaced by another source in between")
    versions = join_intervals((each.after + 1, each.through + 1) for each in tables)
    return [
        DeltaRange(table_id=tables[0].table_id, after=first - 1, through=last - 1)
        for first, last in versions
    ]


def _topics(ranges: list[KafkaRange]) -> list[KafkaRange]:
    partitions: dict[tuple[str, int], list[Interval]] = {}
    for each in ranges:
        for topic, offsets in each.end.items():
            for number, end in offsets.items():
                span = (each.start[topic][number], end)
                partitions.setdefault((topic, number), []).append(span)
    joined = {key: join_intervals(spans) for key, spans in partitions.items()}
    count = max((len(spans) for spans in joined.values()), default=0)
    return [_nth(joined, at) for at in range(count)]


def _nth(joined: dict[tuple[str, int], list[Interval]], at: int) -> KafkaRange:
    start: dict[str, dict[int, int]] = {}
    end: dict[str, dict[int, int]] = {}
    for (topic, number), spans in joined.items():
        if at < len(spans):
            start.setdefault(topic, {})[number] = spans[at][0]
            end.setdefault(topic, {})[number] = spans[at][1]
    return KafkaRange(start=start, end=end)


def join_intervals(spans: Iterable[Interval]) -> list[Interval]:
    """Return intervals without overlap, sorted; those that touch are one, empty ones are gone."""
    found: list[Interval] = []
    for first, last in sorted(spans):
        if first >= last:
            continue
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
