"""The client of confluent-kafka: without it, without a broker, and with secrets in its file."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from holdfast.sources.kafka import client as kafka_client
from holdfast.sources.kafka.client import ConfluentClient, open_kafka, read_topic_id
from holdfast.sources.kafka.probe import CannotAskError
from holdfast.sources.probe import NotProbed

NOWHERE = "127.0.0.1:1"


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def refuse(name: str, *given: Any) -> Any:
        if name == "confluent_kafka":
            raise ImportError(name)
        return imported(name, *given)

    monkeypatch.setattr(builtins, "__import__", refuse)
    found = open_kafka(NOWHERE)
    assert isinstance(found, NotProbed)
    assert "pip install 'holdfast-spark[kafka]'" in found.why


def test_a_topic_id_is_written_as_by_kafka_itself() -> None:
    assert read_topic_id("IUBVnYt5RxuS/25r5Qx+Sg") == "IUBVnYt5RxuS_25r5Qx-Sg"
    assert read_topic_id(None) is None


def test_a_properties_file_that_is_not_there(tmp_path: Path) -> None:
    found = open_kafka(NOWHERE, str(tmp_path / "absent.properties"))
    assert isinstance(found, NotProbed)
    assert "cannot be read" in found.why


def test_what_is_in_the_properties_file_is_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kafka_client, "ANSWER_S", 0.3)
    file = tmp_path / "client.properties"
    lines = [
        "# comment",
        "sasl.username = reader",
        "sasl.password: hunter2",
        "hunter2",
        "x y=hunter2",
    ]
    file.write_text("\n".join([*lines, "sasl.jaas.config=password='hunter2'"]))
    client = open_kafka(NOWHERE, str(file))
    assert isinstance(client, ConfluentClient)
    with pytest.raises(CannotAskError) as raised:
        client.describe(["sensors"])
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__
    assert "librdkafka" in str(raised.value)
    said = capfd.readouterr()
    for text in (repr(client), str(raised.value), said.out, said.err):
        assert "hunter2" not in text


def test_a_broker_that_is_not_there_is_a_reason_within_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_client, "ANSWER_S", 0.3)
    client = open_kafka(NOWHERE)
    assert isinstance(client, ConfluentClient)
    with pytest.raises(CannotAskError, match="the broker did not answer"):
        client.describe(["sensors"])
    assert client.times({("sensors", 0): 3}) == {}
