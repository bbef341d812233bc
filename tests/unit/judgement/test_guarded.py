"""A guarded stream is diagnosed by its name: its ledgers are opened from its contract."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

import holdfast as hf
from holdfast.cli.diagnosis_text import say_verdict
from holdfast.evidence.outputs.output import NotRead
from holdfast.judgement.judge import Verdict
from tests.unit.cli.guarding import PLACE, Guarded


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    found = Guarded(tmp_path)
    found.take()
    return found


def test_a_ledger_that_cannot_be_opened_makes_the_answer_unknown(
    guarded: Guarded, tmp_path: Path
) -> None:
    guarded.run(PLACE)
    found = hf.diagnose("readings", root=str(tmp_path))
    assert found.case.stream is not None
    (sink,) = found.case.stream.sinks
    assert sink.unreadable is not None
    assert found.verdict not in (Verdict.SAFE, Verdict.NOTHING)
    assert any("ledger" in each for each in found.not_judged)


def test_a_sink_of_an_unknown_kind_is_unreadable(guarded: Guarded, tmp_path: Path) -> None:
    place = type(PLACE)(kind="cassandra", place="ks.readings", label="public.readings")
    guarded.run(place)
    found = hf.diagnose(str(tmp_path / "readings"))
    assert found.case.stream is not None
    assert "does not suffice" in str(found.case.stream.sinks[0].unreadable)


def test_the_facts_come_from_the_record(guarded: Guarded, tmp_path: Path) -> None:
    guarded.run(PLACE, ended="failed")
    facts = {each.name: each for each in hf.diagnose("readings", root=str(tmp_path)).facts}
    assert facts["output mode"].value == "append"
    assert facts["Spark"].value == "4.2.0"
    assert "1 start" in str(facts["restarts"].value)
    assert "AnalysisException" in str(facts["restarts"].value)


def test_a_stream_without_a_record_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(hf.ConfigError, match="no record of a stream orders"):
        hf.diagnose("orders", root=str(tmp_path))


def test_a_stream_that_runs_is_said_to_run(guarded: Guarded, tmp_path: Path) -> None:
    guarded.run(PLACE)
    found = hf.diagnose("readings", root=str(tmp_path))
    assert say_verdict(found).startswith(
        "readings is running: a second start waits for its lease, and ends in LEASE_HELD. "
        "If you stop it: "
    )
    (restarts,) = [each.value for each in found.facts if each.name == "restarts"]
    assert str(restarts).endswith("it is running: its lease was renewed within its term")


def test_a_stream_whose_driver_is_gone_is_not_said_to_run(guarded: Guarded, tmp_path: Path) -> None:
    guarded.run(PLACE)
    old = (tmp_path / "_holdfast/readings/leases").glob("*.json")
    for path in old:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    found = hf.diagnose("readings", root=str(tmp_path))
    assert "is running" not in say_verdict(found)
    (restarts,) = [each.value for each in found.facts if each.name == "restarts"]
    assert str(restarts).endswith("its end was not recorded: it was probably killed")


def test_a_safe_restart_claims_nothing_of_the_rows_in_the_table(
    guarded: Guarded, tmp_path: Path
) -> None:
    found = hf.diagnose(str(tmp_path / "readings"))
    safe = replace(found, verdict=Verdict.SAFE, decided_by=None)
    case = replace(safe.case, record=None, stream=None, sources=(), outputs=())
    unasked = say_verdict(replace(safe, case=case))
    assert unasked.startswith("Nothing in the checkpoint speaks against a restart.")
    nothing_left = replace(
        case,
        checkpoint=replace(case.checkpoint, offsets={}),
        outputs=(NotRead(display_name="", why=""),),
    )
    assert guarded.checkpoint.exists()
    assert say_verdict(replace(safe, case=nothing_left)) == (
        "Safe to restart: the restart itself loses and repeats nothing. "
        "Rows were not compared: `holdfast prove` does that."
    )
