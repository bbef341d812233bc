"""Offsets of one Kafka cluster translated to another by a mapping."""

from __future__ import annotations

import json

import pytest

from holdfast.plan.goals.migrate import parse_mapping, translate
from holdfast.plan.goals.position import Position
from holdfast.plan.plan_file import NoPlan
from holdfast.sources.kafka.kind import KafkaOffset

END = KafkaOffset(partitions={"orders": {0: 20, 1: 15}})


def mapping(*pairs: tuple[int, int, int], topic: str = "orders", to: str = "") -> str:
    return "\n".join(
        json.dumps(
            {
                "topic": topic,
                "partition": partition,
                "upstreamOffset": upstream,
                "downstreamOffset": downstream,
                "downstreamTopic": to,
            }
        )
        for partition, upstream, downstream in pairs
    )


def translated(text: str) -> Position | NoPlan:
    syncs = parse_mapping(text)
    assert not isinstance(syncs, NoPlan), syncs
    return translate(END, syncs)


def test_a_pair_for_exactly_the_end_repeats_nothing() -> None:
    found = translated(mapping((0, 0, 0), (0, 20, 7), (1, 15, 3), (1, 99, 80), to="eu.orders"))
    assert isinstance(found, Position)
    assert found.offsets == {"0": {"eu.orders": {"0": 7, "1": 3}}}
    assert (found.changes, found.rereads) == ((), False)


def test_what_lies_after_the_last_pair_comes_again() -> None:
    found = translated(mapping((0, 10, 5), (0, 18, 11), (1, 15, 3)))
    assert isinstance(found, Position)
    assert found.offsets == {"0": {"orders": {"0": 11, "1": 3}}}
    assert [(each.kind, each.amount) for each in found.changes] == [("repeats", 2)]
    assert found.rereads


@pytest.mark.parametrize(
    "text",
    [
        mapping((0, 20, 7)),
        mapping((0, 21, 7), (1, 15, 3)),
        mapping((0, 20, 7), (1, 15, 3), topic="other"),
        mapping((0, -1, 7), (1, 15, 3)),
    ],
)
def test_a_partition_without_a_pair_is_refused(text: str) -> None:
    assert isinstance(translated(text), NoPlan)


@pytest.mark.parametrize(
    "text", ["", "\n", "{}", "[]", "no", mapping((0, 20, 7)) + "\n{", '{"topic": 1}']
)
def test_what_is_no_mapping_is_refused(text: str) -> None:
    assert isinstance(parse_mapping(text), NoPlan)
