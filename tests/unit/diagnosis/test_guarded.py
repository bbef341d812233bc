"""A guarded stream is diagnosed by its name: its ledgers are opened from its contract."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast as hf
from holdfast.diagnosis import RestartVerdict
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
    assert found.verdict not in (RestartVerdict.SAFE, RestartVerdict.NOTHING)
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
