"""Rows that a reset has kept come from the same topic, or are not compared."""

from __future__ import annotations

import pytest

from holdfast.sources.files.ranges import FileRange
from holdfast.sources.kafka.ranges import KafkaRange
from holdfast.storage.memory import MemoryStorage
from holdfast.streams import same_topics
from holdfast.streams.same_topics import find_replaced_topic

KAFKA = {"0": KafkaRange(start={"t": {0: 0}}, end={"t": {0: 5}})}
Ids = dict[int, dict[str, dict[str, str]]]
Servers = dict[int, dict[str, str]]


@pytest.mark.parametrize(
    ("ids", "servers", "said"),
    [
        ({1: {"0": {"t": "A1"}}, 2: {"0": {"t": "A1"}}}, {}, None),
        ({1: {"0": {"t": "A1"}}, 2: {"0": {"t": "B2"}}}, {}, "replaced by another one"),
        ({}, {1: {"0": "a:1"}, 2: {"0": "a:1"}}, None),
        ({}, {1: {"0": "a:1"}, 2: {"0": "b:1"}}, "not known"),
        ({1: {"0": {"t": "A1"}}}, {1: {"0": "a:1"}}, "not known"),
        ({}, {}, "not known"),
    ],
)
def test_by_their_ids_else_by_their_cluster(
    monkeypatch: pytest.MonkeyPatch, ids: Ids, *, servers: Servers, said: str | None
) -> None:
    monkeypatch.setattr(same_topics, "_topic_ids", lambda _, number: ids.get(number, {}))
    monkeypatch.setattr(same_topics, "_servers", lambda _, number: servers.get(number, {}))
    found = find_replaced_topic(MemoryStorage(), [1, 2], [KAFKA, KAFKA])
    assert (found is None) is (said is None)
    assert said is None or said in str(found)


def test_other_sources_are_told_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_topics, "_topic_ids", lambda *_: {})
    monkeypatch.setattr(same_topics, "_servers", lambda *_: {})
    files = {"0": FileRange(files=("a",))}
    assert find_replaced_topic(MemoryStorage(), [1, 2], [files, files]) is None
