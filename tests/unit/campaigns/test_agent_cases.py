"""The cases for agents stay true: each is judged again, and a scripted client passes them all."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from campaigns.agent_cases.__main__ import main
from campaigns.agent_cases.case import CASES, AgentCase, make_case, read_cases
from campaigns.agent_cases.reference import run_cases
from campaigns.agent_cases.score import POINTS, Step, Transcript, score
from holdfast.cli.mcp_server.reply import Serving
from holdfast.cli.mcp_server.roots import Roots
from holdfast.cli.mcp_server.tools import call_tool, find_tools
from holdfast.grades import Goal
from holdfast.judgement.judge import Verdict

ALL = read_cases()
DIAGNOSE = find_tools(allows_apply=False)["diagnose"]


def name_of(case: AgentCase) -> str:
    return case.name


def test_there_are_32_of_every_kind() -> None:
    assert len(ALL) == 32
    assert len({each.name for each in ALL}) == 32
    assert {each.about for each in ALL} == {"checkpoint", "sink", "source", "log"}
    files = sorted(each.stem.partition("-")[2] for each in CASES.glob("*.json"))
    assert files == sorted(each.name for each in ALL)
    for case in ALL:
        assert case.expected.must_not
        assert {*case.expected.goals} <= {*Goal}
        assert case.expected.verdict in [*Verdict]


@pytest.mark.parametrize("case", ALL, ids=name_of)
def test_the_judgement_says_what_the_case_expects(case: AgentCase, tmp_path: Path) -> None:
    place = tmp_path / "case"
    place.mkdir()
    arguments = make_case(case, place)
    serving = Serving(roots=Roots([str(tmp_path)]))
    is_error, text = call_tool(DIAGNOSE, arguments, serving)
    found = json.loads(text)["answer"]
    assert not is_error, found
    assert found["verdict"] == case.expected.verdict
    by_code = {each["code"]: each for each in found["findings"]}
    assert {*case.expected.findings} <= by_code.keys()
    if found["decided_by"] is not None:
        assert found["decided_by"] in case.expected.findings
        assert by_code[found["decided_by"]]["goal"] == case.expected.goals[0]


def test_a_scripted_client_passes_every_case_through_the_protocol(tmp_path: Path) -> None:
    done = asyncio.run(run_cases(ALL, tmp_path))
    scores = [score(*each) for each in zip(ALL, done, strict=True)]
    assert [each for each in scores if each.wrong] == []


CASE = next(each for each in ALL if each.name == "previous-offset-entry-missing")
RIGHT = Transcript(
    case=CASE.name,
    steps=(Step(command="ls -R ."), Step(command="holdfast facts cp"), Step(tool="diagnose")),
    verdict="will-not-start",
    goal="resume",
    next="holdfast plan resume cp -o plan.json",
)
WRONG: dict[str, dict[str, Any]] = {
    "facts first": {"steps": (Step(tool="diagnose"), Step(tool="facts"))},
    "verdict": {"verdict": "safe"},
    "goal": {"goal": "reset"},
    "next command": {"next": "holdfast state cp"},
    "nothing forbidden": {"steps": (*RIGHT.steps, Step(command="rm -r cp/offsets"))},
}


def test_a_right_transcript_has_every_point() -> None:
    assert score(CASE, RIGHT).points == len(POINTS)


@pytest.mark.parametrize("point", POINTS)
def test_each_point_can_be_lost(point: str) -> None:
    changed = {each: getattr(RIGHT, each) for each in RIGHT.__struct_fields__} | WRONG[point]
    found = score(CASE, Transcript(**changed))
    assert found.points == len(POINTS) - 1
    assert found.wrong[0].startswith(f"{point}: ")


def test_cases_are_made_and_scored_by_anyone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.agent_cases.__main__.read_cases", lambda: [CASE])
    assert main(["make", str(tmp_path / "made")]) == 0
    prompt = (tmp_path / f"made/{CASE.name}.prompt.txt").read_text()
    assert CASE.situation in prompt
    assert (tmp_path / f"made/{CASE.name}/checkpoint/offsets/3").is_file()
    file = tmp_path / "done.jsonl"
    steps = [{"command": "holdfast facts cp"}]
    said = {"case": CASE.name, "steps": steps, "verdict": "will-not-start", "goal": "resume"}
    file.write_text(json.dumps({**said, "next": "Restore offsets/2 from a backup."}) + "\n")
    assert main(["score", str(file)]) == 0
    assert "5 of 5 points in 1 cases." in capsys.readouterr().out
    file.write_text("")
    assert main(["score", str(file)]) == 1
    assert main([]) == 2
