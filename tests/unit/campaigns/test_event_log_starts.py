"""The campaign of plain starts finds every way in which a history can differ from what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from campaigns.event_log_starts import Start, Stream, differences
from campaigns.streams.plain_ends import FAILED, FINISHED
from lab.spark import OWN


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    """A stream that was started twice and ran two batches."""
    made = Stream(home=tmp_path, source="files", sink="files", installation=OWN, kafka=None)
    for number, way in enumerate((FAILED, FINISHED)):
        ran = [[number, [[None, '{"logOffset":1}']]]]
        said = {"run_id": f"r{number}", "query_id": "q", "spark": "4.2.1", "batches": ran}
        made.starts.append(Start(way=way, said=said))
        commit = made.checkpoint / "commits" / str(number)
        commit.parent.mkdir(parents=True, exist_ok=True)
        commit.touch()
    return made


@pytest.fixture
def found(stream: Stream) -> dict[str, Any]:
    """What `holdfast facts` must say of it."""
    facts = {
        "checkpoint": str(stream.checkpoint),
        "query id": "q",
        "source offsets": "files",
        "sink": f"{stream.home}/out",
        "output mode": "append",
        "stateful operators": "none",
        "state store": "HDFSBackedStateStoreProvider",
        "Spark": "4.2.1",
        "restarts": "2 starts: 1 ended",
    }
    where = "offsets/1; the event log has the same in 2 of 2 batches"
    return {
        "facts": [{"name": name, "value": value, "where": where} for name, value in facts.items()],
        "event_log": {
            "runs": [
                {"run_id": "r0", "ending": "failed", "spark": "4.2.1", "error": "told to fail"},
                {"run_id": "r1", "ending": "ended", "spark": "4.2.1", "error": None},
            ],
            "batches": [
                {"batch": number, "sources": [{"start": None, "end": '{"logOffset":1}'}]}
                for number in (0, 1)
            ],
            "missing_batches": [],
            "incomplete": [],
        },
    }


def test_what_is_equal_has_no_difference(stream: Stream, found: dict[str, Any]) -> None:
    assert list(differences(stream, found)) == []


def test_another_end_error_or_version_is_found(stream: Stream, found: dict[str, Any]) -> None:
    found["event_log"]["runs"][0] |= {"ending": "ended", "spark": "4.1", "error": "x"}
    assert len(list(differences(stream, found))) == 3


def test_a_run_that_is_not_listed_is_found(stream: Stream, found: dict[str, Any]) -> None:
    del found["event_log"]["runs"][0]
    assert list(differences(stream, found)) == ["1 runs are listed, 2 were made"]


def test_other_offsets_are_found(stream: Stream, found: dict[str, Any]) -> None:
    found["event_log"]["batches"][1]["sources"][0]["end"] = '{"logOffset":2}'
    assert len(list(differences(stream, found))) == 1


def test_a_batch_that_is_neither_told_nor_missing_is_found(
    stream: Stream, found: dict[str, Any]
) -> None:
    del found["event_log"]["batches"][0]
    (wrong,) = differences(stream, found)
    assert wrong == "batch 0 is not told, and not said to be missing"
    found["event_log"]["missing_batches"] = [[0, 0]]
    assert list(differences(stream, found)) == []


def test_a_fact_that_is_not_known_is_found(stream: Stream, found: dict[str, Any]) -> None:
    found["facts"][4]["value"] = None
    (wrong,) = differences(stream, found)
    assert "output mode" in wrong
