"""Positions of a backfill: as people write them, compared with each other, cut into chunks."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import ConfigError
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.files.kind import FileOffset
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.streams.backfill.positions import (
    Position,
    beginning,
    boundary,
    count_chunks,
    decode_position,
    digest_of,
    encode_position,
    find_fault,
    is_before,
    like,
    overlaps,
    parse_position,
    sizes,
    total,
)


def kafka(*offsets: int, topic: str = "t") -> Position:
    return {"0": KafkaOffset(partitions={topic: dict(enumerate(offsets))})}


def delta(version: int) -> Position:
    return {
        "0": DeltaOffset(table_id="id", version=version, index=-1, initial_snapshot=False),
    }


def files(entry: int) -> Position:
    """Return where the file log is when its entries before this one were read."""
    return {"0": FileOffset(log_offset=entry - 1)}


KNOWN = kafka(70, 80)


@pytest.mark.parametrize("position", [kafka(3, 4), delta(7), files(0), files(9)])
def test_a_position_is_read_back_as_it_was_written(position: Position) -> None:
    assert decode_position(encode_position(position)) == position


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"0":7}', '{"0":{"a":1}}'])
def test_what_is_no_position_is_none(text: str) -> None:
    assert decode_position(text) is None


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ('{"t":{"0":3,"1":4}}', KNOWN, kafka(3, 4)),
        ('{"0":{"t":{"0":3,"1":4}}}', KNOWN, kafka(3, 4)),
        ("5", delta(9), delta(5)),
        ("5", files(9), files(5)),
        ("0", files(9), files(0)),
    ],
)
def test_positions_as_people_write_them(text: str, known: Position, expected: Position) -> None:
    assert parse_position("--to", text, known) == expected


def test_with_two_sources_each_is_named() -> None:
    known = {"0": KNOWN["0"], "1": delta(9)["0"]}
    found = parse_position("--to", '{"0":{"t":{"0":1,"1":2}},"1":5}', known)
    assert found == {"0": kafka(1, 2)["0"], "1": delta(5)["0"]}
    with pytest.raises(ConfigError, match="it has 2 sources"):
        parse_position("--to", "5", known)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("5", KNOWN),
        ("latest", KNOWN),
        ('{"t":{"0":-1}}', KNOWN),
        ('{"t":{}}', KNOWN),
        ('{"other":{"0":1}}', KNOWN),
        ('{"t":{"0":1.5}}', KNOWN),
        ("-1", delta(9)),
        ("true", delta(9)),
        ('{"9":5}', delta(9)),
        ("", delta(9)),
    ],
)
def test_what_is_not_a_position_of_the_stream_is_refused(text: str, known: Position) -> None:
    with pytest.raises(ConfigError, match="is not a position of this stream") as refused:
        parse_position("--from", text, known)
    assert "--from" in str(refused.value)


def test_the_beginning_of_each_kind() -> None:
    assert beginning(KNOWN, {"0": {("t", 0): 5, ("t", 1): 6}}) == kafka(5, 6)
    assert beginning(delta(9), {}) == delta(0)
    assert beginning(files(9), {}) == files(0)
    assert like(kafka(5, 6, 7), kafka(9, 9)) == kafka(5, 6)
    assert like({**kafka(5), "1": delta(0)["0"]}, kafka(9)) == kafka(5)


@pytest.mark.parametrize(
    ("start", "end", "fault"),
    [
        (kafka(1, 2), kafka(1, 3), None),
        (kafka(1, 2), kafka(1, 2), "it is empty"),
        (kafka(1, 2), kafka(0, 3), "partition 0 of t ends at 0, before its start 1"),
        (kafka(1), kafka(1, 3), "do not both name partition 1 of t"),
        (kafka(1), delta(3), "do not both name"),
        (delta(3), delta(2), "source 0 ends at 2, before its start 3"),
        (delta(3), {"1": delta(4)["0"]}, "name different sources"),
    ],
)
def test_what_is_not_a_range(start: Position, end: Position, fault: str | None) -> None:
    found = find_fault(start, end)
    assert found is None if fault is None else found is not None and fault in found


SPANS = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=4).map(
    lambda pairs: ([a for a, _ in pairs], [a + n for a, n in pairs])
)


@given(spans=SPANS, chunk=st.integers(1, 300))
def test_chunks_follow_each_other_and_hold_all(spans: Any, chunk: int) -> None:
    start, end = kafka(*spans[0]), kafka(*spans[1])
    count = count_chunks(start, end, chunk)
    cuts = [boundary(start, end, number=number, chunks=count) for number in range(count + 1)]
    assert (cuts[0], cuts[-1]) == (start, end)
    parts = [sizes(*each)["0"] for each in pairwise(cuts)]
    assert sum(parts) == total(start, end) == sizes(start, end)["0"]
    assert min(parts) >= 0
    assert max(parts) <= chunk + len(spans[0])


def test_chunks_of_every_kind() -> None:
    assert [boundary(delta(2), delta(9), number=n, chunks=3) for n in range(4)] == [
        delta(2),
        delta(4),
        delta(6),
        delta(9),
    ]
    assert boundary(files(0), files(10), number=1, chunks=2) == files(5)
    assert count_chunks(delta(0), delta(250), None) == 3
    assert count_chunks(kafka(0), kafka(250_000), None) == 3
    both = {**kafka(0), "1": delta(0)["0"]}, {**kafka(10), "1": delta(40)["0"]}
    assert count_chunks(*both, 10) == 4
    with pytest.raises(TypeError):
        boundary(delta(0), files(3), number=0, chunks=1)


@pytest.mark.parametrize(
    ("start", "end", "is_so"),
    [
        (kafka(0, 0), kafka(5, 5), False),
        (kafka(0, 0), kafka(6, 5), True),
        (kafka(9, 9), kafka(12, 9), True),
        (kafka(10, 9), kafka(12, 9), False),
        (kafka(7, 0, topic="u"), kafka(9, 0, topic="u"), False),
    ],
)
def test_ranges_that_overlap(start: Position, end: Position, *, is_so: bool) -> None:
    assert overlaps(start, end, other=(kafka(5, 5), kafka(10, 5))) is is_so


@pytest.mark.parametrize(
    ("start", "end", "is_so"),
    [
        (kafka(0, 0), kafka(5, 8), True),
        (kafka(0, 0), kafka(5, 9), False),
        (kafka(6, 0), kafka(6, 8), True),  # nothing is read of partition 0
        (kafka(0, 0, 0), kafka(5, 8, 1), False),  # a partition that was added is read from 0
    ],
)
def test_a_range_before_a_stream_began(start: Position, end: Position, *, is_so: bool) -> None:
    assert is_before(start, end, began=kafka(5, 8)) is is_so


def test_digests_tell_texts_apart() -> None:
    assert digest_of("a", "b") == digest_of("a", "b") != digest_of("ab")
    assert len(digest_of(json.dumps({}))) == 64
