"""What a start asks its sources: with which offsets and ids, and that nothing stops it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.record.contracts import Contract
from holdfast.record.runs import Run, write_run
from holdfast.sources.kafka.found import KafkaSource
from holdfast.sources.kafka.probe import (
    CannotAskError,
    Place,
    RecordTime,
    TopicAnswer,
)
from holdfast.storage.memory import MemoryStorage
from holdfast.streams import source_probes
from holdfast.streams.source_probes import SourceProbes, topic_ids_of
from holdfast.testing.rule_cases import RuleCase, make_evidence
from tests.stand_ins import stand_in

ENTRY = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n'
NAMED = ENTRY.replace("v1", "v2")
READ = '{"sensors":{"0":5}}'


class Client:
    def __init__(self, why: str = "") -> None:
        self.why = why
        self.asked: list[str] = []

    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicAnswer]:
        self.asked = list(topics)
        if self.why:
            raise CannotAskError(self.why)
        return {name: TopicAnswer(topic_id="new", ranges={0: (0, 9)}) for name in self.asked}

    def times(self, offsets: Mapping[Place, int]) -> Mapping[Place, RecordTime]:  # noqa: ARG002
        return {}


def probes(record: MemoryStorage, *options: Mapping[str, str]) -> SourceProbes:
    contract = Contract(
        sources=tuple("kafka" for _ in options),
        sinks=("readings",),
        output_mode="append",
        operators=(),
        state_provider="",
        source_options=tuple(dict(each) for each in options),
    )
    df = stand_in(SimpleNamespace(sparkSession=None))
    return SourceProbes(df=df, record=record, epoch=9, contract=contract, before=None)


def evidence(*lines: str, form: str = ENTRY) -> Any:
    files = {"offsets/0": form + "\n".join(lines), "commits/0": "v1\n{}"} if lines else {}
    return make_evidence(RuleCase(name="x", files=files, finds=()))


def recorded(topic_ids: Mapping[str, Mapping[str, str]]) -> MemoryStorage:
    record = MemoryStorage()
    run = Run(
        epoch=7,
        run_id="6f0c0000-0000-4000-8000-000000000000",
        generation=1,
        contract="0" * 16,
        spark="4.2.0",
        started_at="2026-11-15T06:00:00+00:00",
        first_batch=3,
        topic_ids={source: dict(ids) for source, ids in topic_ids.items()},
    )
    write_run(record, run)
    return record


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> dict[int, Client]:
    found: dict[int, Client] = {}
    port = SimpleNamespace(find_kafka_clients=lambda _: found)
    monkeypatch.setattr(source_probes, "port_of", lambda _: port)
    return found


def test_each_source_is_compared_with_its_own_ids(clients: dict[int, Client]) -> None:
    """Two clusters can have topics of one name."""
    clients.update({0: Client(), 1: Client()})
    record = recorded({"0": {"sensors": "old"}, "1": {"sensors": "new"}})
    found = probes(record, {"subscribe": "sensors"}, {"subscribe": "sensors"}).ask(
        evidence(READ, READ)
    )
    sources = [each.found for each in found]
    assert all(isinstance(each, KafkaSource) for each in sources)
    assert [each.topics[0].is_recreated for each in sources if isinstance(each, KafkaSource)] == [
        True,
        False,
    ]
    assert topic_ids_of(found) == {"0": {"sensors": "new"}, "1": {"sensors": "new"}}


def test_at_the_first_start_the_topics_of_the_query_are_asked(clients: dict[int, Client]) -> None:
    clients[0] = Client()
    (found,) = probes(MemoryStorage(), {"subscribe": "sensors"}).ask(evidence())
    assert clients[0].asked == ["sensors"]
    assert topic_ids_of((found,)) == {"0": {"sensors": "new"}}


def test_a_pattern_names_nothing_to_ask_about_at_the_first_start(
    clients: dict[int, Client],
) -> None:
    clients[0] = Client()
    ask = probes(MemoryStorage(), {"subscribePattern": "s.*"}).ask
    assert ask(evidence()) == ()
    assert [each.display_name for each in ask(evidence(READ))] == ["kafka sensors"]


def test_entries_that_name_their_sources_are_known_of_a_single_one(
    clients: dict[int, Client],
) -> None:
    clients[0] = Client()
    (found,) = probes(MemoryStorage(), {}).ask(evidence(f"readings:{READ}", form=NAMED))
    assert found.display_name == "kafka sensors"


def test_a_source_that_does_not_answer_is_noted(
    clients: dict[int, Client], caplog: pytest.LogCaptureFixture
) -> None:
    clients[0] = Client(why="the broker did not answer (X)")
    with caplog.at_level(logging.INFO, logger="holdfast"):
        found = probes(MemoryStorage(), {"subscribe": "sensors"}).ask(evidence(READ))
    assert topic_ids_of(found) == {}
    assert "kafka sensors, was not looked at: the broker did not answer (X)" in caplog.text


def test_a_broken_run_knows_no_ids_and_stops_nothing(
    clients: dict[int, Client], caplog: pytest.LogCaptureFixture
) -> None:
    clients[0] = Client()
    record = recorded({})
    (path,) = (each.path for each in record.list("runs").files)
    record.put(path, b"{")
    with caplog.at_level(logging.INFO, logger="holdfast"):
        (found,) = probes(record, {"subscribe": "sensors"}).ask(evidence(READ))
    assert isinstance(found.found, KafkaSource)
    assert "topic ids of the last run are unknown" in caplog.text


def test_a_plan_that_cannot_be_read_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OSError("the JVM is gone")

    monkeypatch.setattr(source_probes, "port_of", fail)
    assert probes(MemoryStorage(), {"subscribe": "sensors"}).ask(evidence(READ)) == ()


def test_ids_that_cannot_be_read_are_unknown_and_not_none(clients: dict[int, Client]) -> None:
    clients[0] = Client()
    record = recorded({"0": {"sensors": "old"}})
    (name,) = [each for each in record.files if each.startswith("runs/")]
    record.files[name] = b"{"
    (found,) = probes(record, {"subscribe": "sensors"}).ask(evidence(READ))
    assert isinstance(found.found, KafkaSource)
    assert found.found.ids_unread is not None
    assert not found.found.topics[0].is_recreated
