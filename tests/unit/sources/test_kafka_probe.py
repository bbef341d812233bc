"""What a broker has against what a checkpoint needs, with a client that answers from memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import clock
from holdfast.checkpoint.read import read_checkpoint
from holdfast.evidence.progress import find_needed
from holdfast.sources.kafka.found import KafkaQuery, KafkaSource, kafka_query
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.kafka.probe import (
    CannotAskError,
    Place,
    RecordTime,
    TopicAnswer,
    probe_kafka,
    read_retention,
)
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.storage.memory import MemoryStorage
from holdfast.wording import duration

NOW = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)
HOUR_MS = 3_600_000
DAYS_7 = 7 * 24 * HOUR_MS


@pytest.fixture(autouse=True)
def stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def hours_ago(hours: float) -> int:
    return int(NOW.timestamp() * 1000 - hours * HOUR_MS)


@dataclass
class Broker:
    """Answers from memory, and keeps what it was asked."""

    topics: Mapping[str, TopicAnswer] = field(default_factory=dict)
    records: Mapping[Place, RecordTime] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fails_with: str = ""

    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicAnswer]:
        self.asked += topics
        if self.fails_with:
            raise CannotAskError(self.fails_with)
        return {name: self.topics[name] for name in self.asked if name in self.topics}

    def times(self, offsets: Mapping[Place, int]) -> Mapping[Place, RecordTime]:
        return {
            place: found
            for place, at in offsets.items()
            if (found := self.records.get(place)) and found.offset >= at
        }


def answer(
    *ranges: tuple[int, int], topic_id: str | None = "a", retention_ms: int | None = DAYS_7
) -> TopicAnswer:
    return TopicAnswer(topic_id=topic_id, ranges=dict(enumerate(ranges)), retention_ms=retention_ms)


def probe(
    broker: Broker,
    needed: Mapping[str, Mapping[int, int]],
    *,
    recorded: Mapping[str, str] | None = None,
    query: KafkaQuery | None = None,
) -> SourceProbe:
    offset = KafkaOffset(partitions=needed)
    found = probe_kafka("0", offset, broker, recorded=recorded or {}, query=query)
    assert pickle.loads(pickle.dumps(found)) == found
    return found


def source_of(found: SourceProbe) -> KafkaSource:
    assert isinstance(found.found, KafkaSource), found.found
    return found.found


def test_only_topics_of_the_checkpoint_and_of_the_query_are_asked_about() -> None:
    broker = Broker(topics={"sensors": answer((0, 5)), "other": answer((0, 5))})
    probe(broker, {"sensors": {0: 5}})
    assert broker.asked == ["sensors"]
    broker.asked.clear()
    query = kafka_query({"subscribe": "sensors, orders"})
    found = source_of(probe(broker, {"sensors": {0: 5}}, query=query))
    assert broker.asked == ["orders", "sensors"]
    assert [(each.name, each.is_there, each.is_new) for each in found.topics] == [
        ("orders", False, True),
        ("sensors", True, False),
    ]


def test_the_countdown_is_retention_less_the_age_of_the_oldest_record_needed() -> None:
    records = {
        ("sensors", 0): RecordTime(offset=3, timestamp_ms=hours_ago(137)),
        ("sensors", 1): RecordTime(offset=4, timestamp_ms=hours_ago(2)),
    }
    broker = Broker(topics={"sensors": answer((0, 9), (0, 9), (0, 9))}, records=records)
    found = probe(broker, {"sensors": {0: 3, 1: 4, 2: 9}})
    assert found.lossless_for == timedelta(hours=31)
    assert found.lossless_by == (
        "sensors keeps records for 7 d 0 h, and the oldest one that is needed is 5 d 17 h old"
    )


def test_a_limit_by_size_is_told() -> None:
    records = {("sensors", 0): RecordTime(offset=3, timestamp_ms=hours_ago(1))}
    topic = TopicAnswer(
        topic_id=None, ranges={0: (0, 9)}, retention_ms=DAYS_7, retention_bytes=1_000
    )
    found = probe(Broker(topics={"sensors": topic}, records=records), {"sensors": {0: 3}})
    assert found.lossless_for == timedelta(hours=167)
    assert "limit by size" in found.lossless_by


@pytest.mark.parametrize(
    ("topic", "records"),
    [
        pytest.param(answer((0, 9)), {}, id="the record could not be read"),
        pytest.param(answer((0, 9), retention_ms=None), {0: 1}, id="retention is hidden"),
        pytest.param(answer((0, 9), retention_ms=-1), {0: 1}, id="kept forever"),
        pytest.param(answer((0, 9), retention_ms=2**63 - 1), {0: 1}, id="kept for ever so long"),
        pytest.param(answer((0, 3)), {}, id="nothing waits"),
    ],
)
def test_without_a_limit_or_an_age_the_countdown_is_unknown(
    topic: TopicAnswer, records: Mapping[int, float]
) -> None:
    found = {
        ("sensors", number): RecordTime(offset=3, timestamp_ms=hours_ago(age))
        for number, age in records.items()
    }
    told = probe(Broker(topics={"sensors": topic}, records=found), {"sensors": {0: 3}})
    assert (told.lossless_for, told.lossless_by) == (None, "")


@pytest.mark.parametrize(
    "topics",
    [
        pytest.param({"sensors": answer((4, 9))}, id="expired"),
        pytest.param({"sensors": answer((0, 2))}, id="shorter"),
        pytest.param({"sensors": answer()}, id="a partition is gone"),
        pytest.param({}, id="the topic is gone"),
        pytest.param({"sensors": answer((0, 9), topic_id="b")}, id="recreated"),
    ],
)
def test_the_countdown_is_zero_when_something_is_gone(topics: Mapping[str, TopicAnswer]) -> None:
    found = probe(Broker(topics=topics), {"sensors": {0: 3}}, recorded={"sensors": "a"})
    assert found.lossless_for == timedelta(0)
    assert found.lossless_by == "what the checkpoint needs is not there any more"


def test_the_record_before_is_the_one_before_and_no_later_one() -> None:
    """In a compacted topic it can be gone: then the first one after it is found."""
    records = {
        ("sensors", 0): RecordTime(offset=2, timestamp_ms=7),
        ("sensors", 1): RecordTime(offset=3, timestamp_ms=8),
    }
    broker = Broker(topics={"sensors": answer((0, 9), (0, 9))}, records=records)
    (topic,) = source_of(probe(broker, {"sensors": {0: 3, 1: 3}})).topics
    assert [each.last_read_ms for each in topic.partitions] == [7, None]
    assert [each.oldest_needed_ms for each in topic.partitions] == [None, 8]


def test_ids_are_compared_by_topic() -> None:
    broker = Broker(topics={"a": answer((0, 5), topic_id="x"), "b": answer((0, 5), topic_id="y")})
    found = source_of(probe(broker, {"a": {0: 5}, "b": {0: 5}}, recorded={"a": "x", "b": "z"}))
    assert [each.is_recreated for each in found.topics] == [False, True]
    assert found.topic_ids == {"a": "x", "b": "y"}


def test_a_broker_without_ids_has_none() -> None:
    broker = Broker(topics={"a": answer((0, 5), topic_id="A" * 22)})
    found = source_of(probe(broker, {"a": {0: 5}}, recorded={"a": "x"}))
    assert found.topic_ids == {}
    assert not found.topics[0].is_recreated


def test_a_topic_that_is_new_and_missing_is_no_loss() -> None:
    broker = Broker(topics={"a": answer((0, 5))})
    query = kafka_query({"subscribe": "a,b"})
    assert not source_of(probe(broker, {"a": {0: 5}}, query=query)).has_lost


def test_a_broker_that_does_not_answer_is_not_probed() -> None:
    found = probe(Broker(fails_with="the broker did not answer (X)"), {"sensors": {0: 3}})
    assert found.found == NotProbed(why="the broker did not answer (X)")
    assert found.display_name == "kafka sensors"


@pytest.mark.parametrize("name", ["", "../x", "a b", "\x1b[2J", "ä", "x" * 250])
def test_a_name_that_no_topic_has_never_reaches_the_broker(name: str) -> None:
    broker = Broker()
    found = probe(broker, {name: {0: 3}})
    assert isinstance(found.found, NotProbed)
    assert "\x1b" not in f"{found.found.why} {found.display_name}"
    assert broker.asked == []


def test_strange_answers_are_values_too() -> None:
    """Numbers as no broker gives them, and times that no calendar has."""
    records = {("s", 0): RecordTime(offset=-5, timestamp_ms=2**62)}
    broker = Broker(topics={"s": answer((-1, -9), (9, 2), retention_ms=1)}, records=records)
    found = probe(broker, {"s": {0: -(2**63), 1: 2**63 - 1, -4: 3}})
    assert isinstance(found.found, KafkaSource)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (
            {"retention.ms": "5", "retention.bytes": "-1"},
            {"retention.ms": 5, "retention.bytes": -1},
        ),
        (
            {"cleanup.policy": "compact", "retention.ms": "5"},
            {"retention.ms": -1, "retention.bytes": -1},
        ),
        ({"cleanup.policy": "compact,delete", "retention.ms": "5"}, {"retention.ms": 5}),
        ({"retention.ms": "soon", "retention.bytes": None}, {}),
        ({}, {}),
    ],
)
def test_the_retention_of_a_topic(
    settings: Mapping[str, str | None], found: Mapping[str, int]
) -> None:
    assert read_retention(settings) == found


def test_what_the_options_of_a_query_say() -> None:
    assert kafka_query(None) == KafkaQuery()
    assert kafka_query({}).fail_on_data_loss is True
    found = kafka_query(
        {"subscribe": " a,b ", "failOnDataLoss": "FALSE", "startingOffsets": "latest"},
        {"startingOffsets": "earliest"},
    )
    assert found.subscribed == frozenset({"a", "b"})
    assert found.fail_on_data_loss is False
    assert (found.starting_offsets, found.starting_before) == ("latest", "earliest")
    assert kafka_query({"subscribePattern": "a.*"}).subscribed is None


def entry(text: str) -> bytes:
    return b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n' + text.encode()


def test_what_is_needed_is_the_start_of_a_pending_batch_else_the_newest_end() -> None:
    files = {
        "offsets/0": entry('{"s":{"0":3}}'),
        "commits/0": b"v1\n{}",
        "offsets/1": entry('{"s":{"0":7}}'),
    }
    pending = read_checkpoint(MemoryStorage(files))
    assert find_needed(pending) == {"0": KafkaOffset(partitions={"s": {0: 3}})}
    committed = read_checkpoint(MemoryStorage({**files, "commits/1": b"v1\n{}"}))
    assert find_needed(committed) == {"0": KafkaOffset(partitions={"s": {0: 7}})}
    assert find_needed(read_checkpoint(MemoryStorage({}))) == {}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172800, "2 d 0 h"),
    ],
)
def test_a_length_of_time(seconds: int, shown: str) -> None:
    assert duration(timedelta(seconds=seconds)) == shown
