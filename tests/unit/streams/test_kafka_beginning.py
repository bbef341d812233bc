"""Where a Kafka source began, from the options of the first run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from holdfast.storage.memory import MemoryStorage
from holdfast.streams import kafka_beginning
from holdfast.streams.kafka_beginning import find_beginnings

END = json.dumps({"0": {"t": {"0": 7, "1": 9}}})


@pytest.mark.parametrize(
    ("options", "given", "began"),
    [
        ({"startingOffsets": "earliest"}, None, {"0": 0, "1": 0}),
        ({"startingOffsets": '{"t":{"0":3,"1":-2}}'}, None, {"0": 3, "1": 0}),
        ({"startingOffsets": '{"t":{"0":3}}'}, None, {"0": 3, "1": 0}),
        ({"startingOffsets": '{"t":{"0":-1,"1":0}}'}, None, None),
        ({"startingOffsets": "latest"}, None, None),
        ({}, None, None),
        ({"startingOffsets": "earliest", "startingTimestamp": "5"}, None, None),
        ({}, "earliest", {"0": 0, "1": 0}),
        ({"startingOffsets": "latest"}, '{"t":{"0":4,"1":5}}', {"0": 4, "1": 5}),
        ({}, "somewhere", None),
    ],
)
def test_what_was_recorded_or_given(
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    *,
    given: str | None,
    began: dict[str, int] | None,
) -> None:
    def recorded(*_: Any) -> tuple[dict[str, str], ...]:
        return (options,)

    monkeypatch.setattr(kafka_beginning, "_options", recorded)
    found = find_beginnings(MemoryStorage(), generation=1, end=END, given=given)
    assert found == ({} if began is None else {"0": {"t": began}})


def test_other_sources_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_beginning, "_options", lambda *_: ({},))
    end = json.dumps({"0": {"logOffset": 3}})
    assert find_beginnings(MemoryStorage(), generation=1, end=end, given="earliest") == {}
