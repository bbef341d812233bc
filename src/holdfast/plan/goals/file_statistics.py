"""Where a batch ended that only a Delta table has, by the statistics of the files it added.

A table that keeps the partition and the offset of each Kafka record tells what its batches read:
Delta has the largest offset of every file. Rows that a filter dropped at the end of a batch are
read again and dropped again, so the position is exact without them. Which columns these are is
not believed by their names: batches whose ranges the history has must fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import msgspec

from holdfast.formats.delta_statistics import FileStatistics, Value, read_statistics
from holdfast.sources.kind import Offset, Part
from holdfast.storage.read import Reader

MOST_COMPARED = 20
"""Batches of the history that the columns are compared with."""

Ends = dict[Part, int]


class KnownRange(msgspec.Struct, frozen=True, kw_only=True):
    """A batch whose range is known, and the version of the table that has it."""

    version: int
    start: Offset | None
    """None for the first batch."""
    end: Offset


class NoRange(msgspec.Struct, frozen=True, kw_only=True):
    """Why the files do not tell where a batch ended."""

    why: str


class _Columns(msgspec.Struct, frozen=True):
    topic: str | None
    partition: str
    offset: str


def read_ends(
    table: Reader, known: Sequence[KnownRange], unknown: Sequence[int], *, start: Offset
) -> tuple[Offset, ...] | NoRange:
    """Return where each of some batches ended that no history has.

    Args:
        table: Reads the table.
        known: Batches to compare the columns with, one at least.
        unknown: The versions that the batches made, oldest first.
        start: Where the first of them began.

    Raises:
        ReadError: The store did not let us read.
    """
    compared = [
        (each, files)
        for each in known[-MOST_COMPARED:]
        if (files := read_statistics(table, each.version)) is not None
    ]
    added = [read_statistics(table, version) for version in unknown]
    if any(each is None for each in added):
        return NoRange(why="a file of it has no statistics, or the commit also removed files")
    found = [files or () for files in added]
    fitting = [
        columns
        for columns in _candidates([*(files for _, files in compared), *found])
        if _fits(columns, compared)
    ]
    ends = {_add_up(columns, found, start) for columns in fitting}
    numbers = ends.pop() if len(ends) == 1 else None
    if numbers is None:
        return NoRange(why=_say_why(fitting, compared))
    return tuple(start.at(dict(each)) for each in numbers)


def _say_why(fitting: Sequence[_Columns], compared: Sequence[object]) -> str:
    if not compared:
        return "no batch of the event log is in the table's log to compare with"
    if not fitting:
        return (
            "the table has no columns whose statistics give the Kafka partition and offset of its "
            "rows, one partition in each file"
        )
    return "its files do not begin where the batch before them ended"


def _candidates(batches: Sequence[Sequence[FileStatistics]]) -> Iterator[_Columns]:
    """Yield the columns that may be a record's partition and offset, by how their names end."""
    names = sorted({name for files in batches for each in files for name in each.highest})
    topics = [None, *(each for each in names if _is_called(each, "topic"))]
    for partition in (each for each in names if _is_called(each, "partition")):
        for offset in (each for each in names if _is_called(each, "offset")):
            yield from (_Columns(topic, partition, offset) for topic in topics)


def _is_called(name: str, what: str) -> bool:
    return name.rpartition(".")[2].lower().endswith(what)


def _fits(
    columns: _Columns, compared: Sequence[tuple[KnownRange, tuple[FileStatistics, ...]]]
) -> bool:
    """Return whether the files of known batches lie within their ranges, and one reaches an end."""
    reaches = False
    for batch, files in compared:
        first = {} if batch.start is None else batch.start.numbers()
        end = batch.end.numbers()
        topics = {topic for topic, _ in end}
        for file in files:
            if not file.records:
                continue
            found = _range_of(file, columns, topics)
            if found is None:
                return False
            part, low, high = found
            if part not in end or low < first.get(part, 0) or high >= end[part]:
                return False
            reaches |= high + 1 == end[part]
    return reaches


def _range_of(
    file: FileStatistics, columns: _Columns, topics: Set[str]
) -> tuple[Part, int, int] | None:
    """Return the partition of a file, its first and its last offset; None if it has several."""
    values = [file.lowest.get(columns.partition), file.highest.get(columns.partition)]
    low, high = _number(file.lowest.get(columns.offset)), _number(file.highest.get(columns.offset))
    partition = _number(values[0])
    if values[0] != values[1] or partition is None or low is None or high is None:
        return None
    topic = _topic_of(file, columns, topics)
    return None if topic is None else ((topic, partition), low, high)


def _topic_of(file: FileStatistics, columns: _Columns, topics: Set[str]) -> str | None:
    if columns.topic is None:
        return next(iter(topics)) if len(topics) == 1 else None
    low, high = file.lowest.get(columns.topic), file.highest.get(columns.topic)
    return low if isinstance(low, str) and low == high and low in topics else None


def _number(value: Value | None) -> int | None:
    """Return an offset or a partition: a column that the table is partitioned by is a text."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else None
    return value


def _add_up(
    columns: _Columns, batches: Sequence[tuple[FileStatistics, ...]], start: Offset
) -> tuple[tuple[tuple[Part, int], ...], ...] | None:
    """Return where each batch ended, one after the other; None if its files do not fit."""
    ends: Ends = dict(start.numbers())
    topics = {topic for topic, _ in ends}
    found = []
    for files in batches:
        after = dict(ends)
        for file in files:
            if not file.records:
                continue
            range_ = _range_of(file, columns, topics)
            if range_ is None or range_[1] < ends.get(range_[0], 0):
                return None
            part, _, high = range_
            after[part] = max(after.get(part, 0), high + 1)
        ends = after
        found.append(tuple(ends.items()))
    return tuple(found)
