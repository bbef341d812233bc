from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from holdfast.cli.drill import drill
from holdfast.cli.drill_options import DrillOptions
from holdfast.cli.drill_text import render_summary
from holdfast.drills.answer import answer
from holdfast.drills.builtin import cells
from holdfast.drills.builtin.cells import BUILTIN, CELLS, Cell
from holdfast.drills.builtin.choose import choose_cells
from holdfast.drills.drill import Drilled
from holdfast.drills.limits import SECONDS
from holdfast.drills.phases import ALL
from holdfast.drills.result import CheckJson, DrillJson
from holdfast.drills.summary import SummaryJson
from holdfast.errors import ConfigError
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/reference/drill-phases.md").read_text()


def test_the_phases_are_those_of_the_page() -> None:
    listed = json.loads(CliRunner().invoke(drill, ["list", "--format", "json"]).output)
    assert [each["phase"] for each in listed["phases"]] == [each.name for each in ALL]
    assert [each["drill"] for each in listed["drills"]] == list(CELLS)
    for each in listed["phases"]:
        kills = ", ".join(f"`{kill}`" for kill in each["kills"])
        assert f"| `{each['phase']}` | {each['shown']} | {kills} |" in PAGE
    assert "offsets-before" in CliRunner().invoke(drill, ["list"]).output


def drilled(*drills: tuple[str, int, int]) -> list[DrillJson]:
    """Return drills with a verdict, rows lost and rows duplicated."""
    return [
        DrillJson(
            drill=f"phase-{number}",
            verdict=verdict,
            kills=["at:S1:1", "at:S1:3"],
            lost=lost,
            duplicated=duplicated,
            unexpected=0,
            cpu_seconds=1,
            checks=[CheckJson(check="some", verdict=verdict, told="so it was")],
            directory="drill",
        )
        for number, (verdict, lost, duplicated) in enumerate(drills)
    ]


def summary(drills: list[DrillJson]) -> SummaryJson:
    """Return a summary of drills."""
    return SummaryJson(
        target="app:start",
        verdict="PASS",
        answer=answer(drills),
        began="2026-11-16T09:31:00+00:00",
        seed=1,
        versions={},
        drills=drills,
    )


@pytest.mark.parametrize(
    ("drills", "said"),
    [
        (
            [("PASS", 0, 0)],
            "PASS: killed 2 times in 1 phase, the stream ended with the same rows each time.",
        ),
        ([("FAIL", 5, 0), ("PASS", 0, 0)], "FAIL: in 1 of 2 phases a restart loses 5 rows."),
        ([("FAIL", 5, 1)], "FAIL: in 1 of 1 phases a restart loses 5 rows and duplicates 1 row."),
        (
            [("FAIL", 0, 0)],
            "FAIL: in 1 of 1 phases a restart does not bring the stream to its end.",
        ),
        ([("UNKNOWN", 0, 0)], "UNKNOWN: 1 of 1 phases is inconclusive."),
        ([], "UNKNOWN: 0 of 0 phases are inconclusive."),
    ],
)
def test_the_answer_comes_first(drills: list[tuple[str, int, int]], said: str) -> None:
    found = summary(drilled(*drills))
    lines = render_summary(found, page="drill/timeline.html", again=lambda bad: ["again", *bad])
    assert lines[0] == said
    is_bad = any(verdict != "PASS" for verdict, _, _ in drills)
    assert ("so it was" in "\n".join(lines)) == is_bad
    assert any(line == "Again: again phase-0" for line in lines) == is_bad


def test_a_stream_that_is_stuck_is_told_beside_the_damage() -> None:
    first, damaged, passed = drilled(("FAIL", 0, 0), ("FAIL", 0, 7), ("PASS", 0, 0))
    is_stuck = CheckJson(check="starts-again", verdict="FAIL", told="stuck: exit code 1")
    stuck = msgspec.structs.replace(first, checks=[is_stuck])
    assert answer([stuck, damaged, passed]) == (
        "FAIL: in 1 of 3 phases a restart duplicates 7 rows; "
        "in 1 of 3 phases the stream does not start again."
    )
    assert answer([stuck, passed]) == "FAIL: in 1 of 2 phases the stream does not start again."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Name your stream as"),
        (["app:start", "--all"], "Name your stream as"),
        (["app:start", "app:other"], "Drill one of your streams"),
        (["delta-apend"], "There is no drill 'delta-apend'"),
        (["postgres-append"], "--dsn env:NAME"),
        (["delta-append", "--only", "no-such-phase"], "leave no drill to run"),
        (["delta-append", "--sample", "0"], "leave no drill to run"),
        (["delta-append", "--kill-at", "at:S3"], "--kill-at works only with your own stream"),
        (["app:start", "--kill-at", "COMMIT"], "'COMMIT' is no point"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    arguments: list[str], said: str, tmp_path: Path
) -> None:
    asked = ["run", *arguments, "--directory", str(tmp_path / "drill")]
    refused = CliRunner().invoke(drill, asked).exception
    assert isinstance(refused, ConfigError)
    assert said in refused.what + refused.why
    assert not (tmp_path / "drill").exists()


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path) -> None:
    """An old checkpoint in it would make a drill pass that does nothing."""
    (tmp_path / "rows.jsonl").touch()
    given = ["run", "delta-append/replay", "--directory", str(tmp_path)]
    refused = CliRunner().invoke(drill, given).exception
    assert isinstance(refused, ConfigError)
    assert "is not empty" in refused.why
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


def test_drills_are_chosen_by_name_stream_and_pattern() -> None:
    assert [cell.name for cell in choose_cells(["delta-append/replay"])] == ["delta-append/replay"]
    assert {cell.stream.name for cell in choose_cells(["postgres-merge"])} == {"postgres-merge"}
    assert {cell.phase.name for cell in choose_cells(["*/replay"])} == {"replay"}
    chains = [cell.name for cell in choose_cells(["*/every"])]
    assert [cell.name for cell in choose_cells([])] == [
        name for name in CELLS if name not in chains
    ]
    assert chains == [f"{name}/every" for name in BUILTIN]
    drawn = choose_cells(["delta-*"], sample=5, seed=3)
    assert len(drawn) == 5
    assert (
        drawn == choose_cells(["delta-*"], sample=5, seed=3) != choose_cells(["delta-*"], sample=5)
    )


def asked(*targets: str, **given: Any) -> DrillOptions:
    nothing = dict.fromkeys(("source_sample", "read", "checkpoint", "dsn", "sample", "directory"))
    others = {"is_all": False, "only": (), "kill_at": (), "seed": 1, "form": "text"}
    return DrillOptions(targets=targets, **{**others, "timeout": SECONDS, **nothing, **given})


def test_what_failed_is_repeated_by_one_command() -> None:
    yours = asked("app:start", source_sample=Path("sample"), read="app:rows")
    assert " ".join(yours.again(["replay"])) == (
        "holdfast drill run app:start --source-sample sample --read app:rows --only replay"
    )
    pointed = asked("app:start", kill_at=("before-send:COMMIT:3", "at:deleted"))
    assert " ".join(pointed.again(["kill-at"])) == (
        "holdfast drill run app:start --only kill-at "
        "--kill-at before-send:COMMIT:3 --kill-at at:deleted"
    )
    slow = asked("app:start", timeout=900.0, only=("offsets-after", "replay"))
    assert " ".join(slow.again(["replay"])) == (
        "holdfast drill run app:start --timeout 900 --only replay"
    )
    ours = asked(is_all=True, dsn="env:SCRATCH", sample=20)
    assert " ".join(ours.command()) == (
        "holdfast drill run --all --dsn env:SCRATCH --sample 20 --seed 1"
    )
    assert " ".join(ours.again(["delta-merge/replay"])) == (
        "holdfast drill run delta-merge/replay --dsn env:SCRATCH"
    )


@pytest.mark.parametrize(
    "option", [("--checkpoint", "."), ("--read", "app:rows"), ("--source-sample", ".")]
)
def test_what_a_drill_of_our_own_would_not_look_at_is_refused(option: tuple[str, str]) -> None:
    refused = CliRunner().invoke(drill, ["run", "delta-append/replay", *option]).exception
    assert isinstance(refused, ConfigError)
    assert f"{option[0]} works only with your own stream" in refused.why


def test_every_option_of_the_time_limit_reaches_the_drivers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[float] = []

    def run_cell(_: Cell, *, directory: Path, dsn: str | None, seconds: float) -> Drilled:
        assert (directory.name, dsn) == ("delta-append--replay", None)
        seen.append(seconds)
        return Drilled(name="delta-append/replay", directory=tmp_path, checked=[])

    monkeypatch.setattr(cells, "run_cell", run_cell)
    options = asked("delta-append/replay", timeout=900.0, directory=tmp_path / "drill")
    assert [each.name for each in options.run()] == ["delta-append/replay"]
    assert seen == [900.0]
