"""`--event-log`: the nine facts of a plain stream, each with where it was read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import calling
from tests.event_logs import Recorded, recorded

Say = Callable[..., str]
CONF = '{"batchWatermarkMs":0,"batchTimestampMs":1763438400000,"conf":{}}'


def make_checkpoint(
    directory: Path, log: Recorded, *, planned: int, committed: int, ahead: int = 0
) -> Path:
    """Write the checkpoint of a recorded stream of files."""
    for number in range(planned + 1):
        entry = directory / "offsets" / str(number)
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text(f'v1\n{CONF}\n{{"logOffset":{number + ahead}}}')
        source = directory / "sources" / "0" / str(number)
        source.parent.mkdir(parents=True, exist_ok=True)
        file = {"path": f"file:///in/{number}.json", "timestamp": 1, "batchId": number}
        source.write_text(f"v1\n{json.dumps(file)}")
    for number in range(committed + 1):
        entry = directory / "commits" / str(number)
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text('v1\n{"nextBatchWatermarkMs":0}')
    (directory / "metadata").write_text(json.dumps({"id": log.query_id}))
    return directory


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Return what a command writes about a checkpoint and an event log."""

    def call(verb: str, checkpoint: Path, events: Path, *more: str) -> str:
        given = (verb, str(checkpoint), "--event-log", str(events), *more)
        return calling.call(capsys, *given)[1]

    return call


def facts(say: Say, checkpoint: Path, log: Recorded) -> dict[str, Any]:
    """Return what `holdfast facts` says, as JSON."""
    found: dict[str, Any] = json.loads(say("facts", checkpoint, log.events, "--format", "json"))
    return found


@pytest.mark.parametrize("name", ["3.5-failed", "4.2-failed"])
def test_facts_that_a_checkpoint_does_not_have_come_from_the_log(
    say: Say, name: str, tmp_path: Path
) -> None:
    log = recorded(name)
    found = facts(say, make_checkpoint(tmp_path / "cp", log, planned=2, committed=1), log)
    by_name = {each["name"]: each for each in found["facts"]}
    assert "FileSink[" in by_name["sink"]["value"]
    assert by_name["output mode"]["value"] == "append"
    assert by_name["Spark"]["value"] == log.answers["spark"]
    assert by_name["restarts"]["value"].startswith("1 start: 1 failed")
    assert "told to fail" in by_name["restarts"]["value"]
    assert by_name["source offsets"]["where"] == (
        "offsets/2; the event log has the same in 2 of 2 batches"
    )
    for fact in ("sink", "output mode", "Spark", "stateful operators"):
        assert by_name[fact]["where"].startswith("event log, "), fact
    history = found["event_log"]
    assert history["incomplete"] == []
    assert [each["batch"] for each in history["batches"]] == [0, 1]
    assert history["batches"][1]["sources"][0]["end"] == '{"logOffset":1}'
    assert "planted-word" not in json.dumps(found)


@pytest.mark.parametrize("name", ["3.5-stateful", "4.2-stateful"])
def test_the_state_store_and_the_output_mode_of_a_stateful_query(
    say: Say, name: str, tmp_path: Path
) -> None:
    log = recorded(name)
    found = facts(say, make_checkpoint(tmp_path / "cp", log, planned=2, committed=2), log)
    by_name = {each["name"]: each["value"] for each in found["facts"]}
    assert by_name["state store"] == "RocksDBStateStoreProvider"
    assert by_name["output mode"] == "update"
    assert by_name["stateful operators"] == "stateStoreSave"


def test_a_killed_run_has_no_end_and_the_history_says_that_it_is_not_complete(
    say: Say, tmp_path: Path
) -> None:
    log = recorded("4.2-killed")
    checkpoint = make_checkpoint(tmp_path / "cp", log, planned=2, committed=2)
    answer = say("facts", checkpoint, log.events)
    assert "1 without an end in the log" in answer
    assert "not in the log: killed, or running" in answer
    assert "The history is not complete:" in answer
    assert "batch 2 is committed, and in no log" in answer
    assert "the log does not say that the application ended" in answer


def test_inspect_shows_the_starts_and_the_times_of_batches(say: Say, tmp_path: Path) -> None:
    log = recorded("4.2-failed")
    checkpoint = make_checkpoint(tmp_path / "cp", log, planned=2, committed=1)
    answer = say("inspect", checkpoint, log.events)
    assert log.answers["run_id"] in answer
    assert re.search(r"2 batches; of the newest 2: median [\d,]+ ms", answer)
    told = say("inspect", checkpoint, log.events, "--format", "json")
    assert json.loads(told)["event_log"]["runs"][0]["ending"] == "failed"


def test_a_checkpoint_that_is_older_than_the_log(say: Say, tmp_path: Path) -> None:
    log = recorded("3.5-stopped")
    checkpoint = make_checkpoint(tmp_path / "cp", log, planned=0, committed=0)
    answer = say("diagnose", checkpoint, log.events, "--notes")
    assert "HF120 checkpoint-behind-event-log" in answer
    assert "batches 1 to 2 of this query ran and were committed" in answer


def test_an_offset_entry_that_was_edited(say: Say, tmp_path: Path) -> None:
    log = recorded("3.5-stopped")
    checkpoint = make_checkpoint(tmp_path / "cp", log, planned=2, committed=2, ahead=5)
    answer = say("diagnose", checkpoint, log.events, "--notes")
    assert "HF121 offsets-differ-from-event-log" in answer
    assert "the same in 0 of 3 batches" in answer


def test_a_checkpoint_that_fits_its_log_has_no_finding_of_it(say: Say, tmp_path: Path) -> None:
    log = recorded("3.5-stopped")
    checkpoint = make_checkpoint(tmp_path / "cp", log, planned=2, committed=2)
    assert not re.search("HF12[012]", say("diagnose", checkpoint, log.events, "--notes"))


def test_a_location_without_any_log_is_said(say: Say, tmp_path: Path) -> None:
    log = recorded("3.5-stopped")
    checkpoint = make_checkpoint(tmp_path / "cp", log, planned=2, committed=2)
    answer = say("facts", checkpoint, tmp_path / "absent")
    assert "there is no event log of Spark at" in answer
    assert f"Not read: the event log {tmp_path / 'absent'}" in answer
    assert "no start of this query" in answer


def test_a_log_of_other_queries_names_them(say: Say, tmp_path: Path) -> None:
    log, other = recorded("3.5-stopped"), recorded("3.5-killed")
    checkpoint = make_checkpoint(tmp_path / "cp", log, planned=2, committed=2)
    answer = say("facts", checkpoint, other.events)
    assert "none of 1 application has this query" in answer
    assert f"{other.query_id} readings" in answer


def test_a_log_that_was_asked_for_and_not_seen_is_not_safe(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    checkpoint = make_checkpoint(tmp_path / "cp", recorded("4.2-failed"), planned=1, committed=1)
    given = ("inspect", str(checkpoint), "--check", "--spark", "4.2")
    assert calling.call(capsys, *given)[0] == 0
    (tmp_path / "empty").mkdir()
    for events in ("nowhere", "empty"):
        more = ("--event-log", str(tmp_path / events))
        assert calling.call(capsys, *given, *more)[0] != 0
