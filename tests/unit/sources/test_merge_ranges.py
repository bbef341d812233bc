"""Ranges of several lives of a stream: all of them together, nothing twice."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from holdfast.sources.delta.ranges import DeltaRange
from holdfast.sources.files.ranges import FileRange
from holdfast.sources.kafka.ranges import KafkaRange
from holdfast.sources.ranges import NoRange, join_intervals, merge_ranges


def kafka(**partitions: tuple[int, int]) -> KafkaRange:
    """One topic; a partition is named `p0`."""
    start = {int(name[1:]): span[0] for name, span in partitions.items()}
    end = {int(name[1:]): span[1] for name, span in partitions.items()}
    return KafkaRange(start={"t": start}, end={"t": end})


def delta(after: int, through: int, table: str = "a") -> DeltaRange:
    return DeltaRange(table_id=table, after=after, through=through)


@pytest.mark.parametrize(
    ("parts", "merged"),
    [
        # A backfill of what is before the beginning of the stream.
        ([{"0": delta(0, 1)}, {"0": delta(-1, 0)}], ({"0": delta(-1, 1)},)),
        # A reset that kept rows and skipped some.
        (
            [{"0": kafka(p0=(0, 5), p1=(0, 3))}, {"0": kafka(p0=(8, 9), p1=(3, 4))}],
            ({"0": kafka(p0=(0, 5), p1=(0, 4))}, {"0": kafka(p0=(8, 9))}),
        ),
        # A reset that kept rows and read some again: each is expected once.
        ([{"0": kafka(p0=(0, 5))}, {"0": kafka(p0=(2, 9))}], ({"0": kafka(p0=(0, 9))},)),
        (
            [{"0": FileRange(files=("a", "b"))}, {"0": FileRange(files=("b", "c"))}],
            ({"0": FileRange(files=("a", "b", "c"))},),
        ),
        ([{"0": delta(3, 3)}, {"0": delta(5, 6)}], ({"0": delta(5, 6)},)),
        (
            [{"0": delta(0, 1), "1": kafka(p0=(0, 1))}, {"0": delta(4, 5)}],
            ({"0": delta(0, 1), "1": kafka(p0=(0, 1))}, {"0": delta(4, 5)}),
        ),
    ],
)
def test_nothing_is_left_out_and_nothing_is_there_twice(parts: Any, merged: Any) -> None:
    assert merge_ranges(parts) == merged


def test_two_tables_are_not_one() -> None:
    found = merge_ranges([{"0": delta(0, 1)}, {"0": delta(1, 2, table="b")}])
    assert isinstance(found, NoRange)
    assert isinstance(merge_ranges([{"0": delta(0, 1)}, {"0": kafka(p0=(0, 1))}]), NoRange)


def test_intervals_are_the_union_of_their_numbers(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        spans = [(chance.randrange(12), chance.randrange(12)) for _ in range(chance.randrange(5))]
        joined = join_intervals(spans)
        numbers = [number for first, last in joined for number in range(first, last)]
        assert numbers == sorted({n for first, last in spans for n in range(first, last)})
        assert all(one[1] < other[0] for one, other in pairwise(joined))
