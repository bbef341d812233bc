"""The campaign of plain facts finds each fact that is wrong or unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from campaigns.event_log_starts import Start
from campaigns.plain_facts import NAMES, RIGHT, UNKNOWN, WRONG, Stream, judge, make_streams
from campaigns.streams.plain_ends import FAILED, KILLED
from campaigns.streams.plain_matrix import COUNTED

END = '{"in":{"0":10,"1":10}}'


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    """A stream that was started twice and ran two batches."""
    made = Stream(home=tmp_path / "kafka-kafka", source="kafka", sink="kafka", operator=COUNTED)
    for number, way in enumerate((FAILED, KILLED)):
        ran = [[number, [[None, END]]]]
        said = {"run_id": f"r{number}", "query_id": "q", "spark": "3.5.9", "batches": ran}
        made.starts.append(Start(way=way, said=said))
        commit = made.checkpoint / "commits" / str(number)
        commit.parent.mkdir(parents=True, exist_ok=True)
        commit.touch()
    return made


@pytest.fixture
def found(stream: Stream) -> dict[str, Any]:
    """What `holdfast facts` must say of it."""
    values = (
        *(str(stream.checkpoint), "q", "kafka in", "KafkaTable (batch 1)", "update"),
        *("1 operator: stateStoreSave, 2 partitions", "HDFSBackedStateStoreProvider", "3.5.9"),
        "2 starts: 1 failed, 1 without an end in the log",
    )
    runs = [
        {"run_id": "r0", "ending": "failed", "spark": "3.5.9", "error": "told to fail"},
        {"run_id": "r1", "ending": "not-in-log", "spark": "3.5.9", "error": None},
    ]
    batches = [{"batch": at, "sources": [{"start": None, "end": END}]} for at in (0, 1)]
    log = {"runs": runs, "batches": batches, "missing_batches": [], "incomplete": []}
    return {
        "facts": [{"name": n, "value": v} for n, v in zip(NAMES, values, strict=True)],
        "offsets": [{"partition": at, "offset": 10, "position": "offset 10"} for at in (0, 1)],
        "event_log": log,
    }


def test_what_was_done_is_right(stream: Stream, found: dict[str, Any]) -> None:
    assert judge(stream, found) == dict.fromkeys(NAMES, RIGHT)


@pytest.mark.parametrize("name", [each for each in NAMES if each != "source offsets"])
@pytest.mark.parametrize("value", ["other", None])
def test_a_fact_that_is_planted_is_found(
    stream: Stream, found: dict[str, Any], *, name: str, value: str | None
) -> None:
    verdict = UNKNOWN if value is None else WRONG
    next(each for each in found["facts"] if each["name"] == name)["value"] = value
    assert judge(stream, found) == {**dict.fromkeys(NAMES, RIGHT), name: verdict}


def test_one_offset_of_one_partition_counts(stream: Stream, found: dict[str, Any]) -> None:
    found["offsets"][1]["offset"] = 11
    assert judge(stream, found)["source offsets"] == WRONG


def test_an_end_that_is_another_counts(stream: Stream, found: dict[str, Any]) -> None:
    found["event_log"]["runs"][1]["ending"] = "ended"
    assert judge(stream, found)["restarts"] == WRONG


def test_every_sink_has_each_operator_that_it_takes(tmp_path: Path) -> None:
    seen = {(each.sink, each.operator) for turn in (0, 1) for each in make_streams(tmp_path, turn)}
    assert len(seen) == 11, "three of each sink; a file sink takes no counts"
