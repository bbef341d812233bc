"""The night: what it runs is there, a failure stops no other run, and the last time is compared."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import CliRunner

import campaigns.nightly.__main__ as nightly
from campaigns.nightly.results import Result, read_result, write_result
from campaigns.nightly.runs import GROUPS, RUNS, Run
from tests.house.repository import ROOT

FINE = Run(group="one", name="fine", words=("-c", "print('all of it')"))
BROKEN = Run(group="one", name="broken", words=("-c", "print('here'); raise SystemExit(3)"))
ENDLESS = Run(
    group="two", name="endless", words=("-c", "import time\nwhile 1: time.sleep(9)"), hours=0
)


def result(*, seconds: float = 10.0, exit_code: int | None = 0) -> Result:
    return Result(
        name="fine", commit="c", seed=1, seconds=seconds, exit_code=exit_code, last_lines=()
    )


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_what_it_runs_is_there(run: Run) -> None:
    assert run.words[0] == "-m"
    assert find_spec(run.words[1]) is not None


def test_a_name_is_given_once() -> None:
    assert len({each.name for each in RUNS} | set(GROUPS)) == len(RUNS) + len(GROUPS)


def test_the_workflow_runs_every_group() -> None:
    workflow = (ROOT / ".github/workflows/nightly.yml").read_text()
    assert f"group: [{', '.join(GROUPS)}]" in workflow


def test_one_that_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "RUNS", (BROKEN, ENDLESS, FINE))
    monkeypatch.setattr(nightly, "_GRACE_SECONDS", 5)
    ran = CliRunner().invoke(nightly.main, ["--results", str(tmp_path)])
    assert ran.exit_code == 1
    assert ran.stdout.endswith("1 of 3 held. Not: broken, endless.\n")
    broken, endless, fine = (read_result(tmp_path, each) for each in ("broken", "endless", "fine"))
    assert broken is not None
    assert (broken.exit_code, broken.last_lines) == (3, ("here",))
    assert endless is not None
    assert endless.exit_code is None
    assert fine is not None
    assert fine.held
    assert (tmp_path / "fine.txt").read_text() == "all of it\n"


def test_a_group_or_a_name_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "RUNS", (BROKEN, FINE))
    ran = CliRunner().invoke(nightly.main, ["fine", "--results", str(tmp_path)])
    assert (ran.exit_code, ran.stdout.splitlines()[-1]) == (0, "1 of 1 held.")
    assert CliRunner().invoke(nightly.main, ["finne", "--results", str(tmp_path)]).exit_code == 2


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (None, result(), "held, 10 s, first time"),
        (result(), result(exit_code=1), "FAILED with 1, held before, 10 s, before 10 s"),
        (result(exit_code=1), result(), "held, new, 10 s, before 10 s"),
        (result(), result(seconds=16), "held, 16 s, before 10 s, slower"),
        (
            result(),
            result(exit_code=None),
            "NOT SHOWN, took too long, held before, 10 s, before 10 s",
        ),
    ],
)
def test_the_last_time_is_compared(before: Result | None, now: Result, said: str) -> None:
    assert now.compare(before) == said


def test_a_damaged_result_counts_as_none(tmp_path: Path) -> None:
    write_result(tmp_path, result())
    assert read_result(tmp_path, "fine") == result()
    (tmp_path / "fine.json").write_text("{")
    assert read_result(tmp_path, "fine") is None
