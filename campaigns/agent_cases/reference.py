"""A scripted client that follows the skill: the facts, the diagnosis, the goal, the next command.

It decides nothing by itself. That it passes every case shows that the tools alone lead there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp import Client, StdioServerParameters

from campaigns.agent_cases.case import AgentCase, make_case
from campaigns.agent_cases.score import Step, Transcript

_SRC = Path(__file__).parents[2] / "src"
_FOR_FACTS = ("location", "root", "sink")
_NOTE = "note"


async def run_cases(cases: Sequence[AgentCase], place: Path) -> list[Transcript]:
    """Make every case below a directory, and run the client on each through `holdfast mcp`."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "holdfast", "mcp", "--root", str(place)],
        env={"PYTHONPATH": os.pathsep.join((str(_SRC), os.environ.get("PYTHONPATH", "")))},
    )
    async with Client(server) as client:
        return [await _run_case(client, each, place / each.name) for each in cases]


async def _run_case(client: Client, case: AgentCase, place: Path) -> Transcript:
    place.mkdir()
    arguments = make_case(case, place)
    known = {name: value for name, value in arguments.items() if name in _FOR_FACTS}
    facts = await _call(client, "facts", known)
    assert [each["number"] for each in _rows(facts, "facts")][:9] == [*range(1, 10)]
    found = await _call(client, "diagnose", arguments)
    verdict = str(found["verdict"])
    finding = _deciding(found)
    goal = "none" if finding is None else str(finding["goal"])
    return Transcript(
        case=case.name,
        steps=(Step(tool="facts"), Step(tool="diagnose")),
        verdict=verdict,
        goal=goal,
        next=_next(verdict, goal, _named(arguments)),
    )


async def _call(client: Client, tool: str, given: Mapping[str, object]) -> dict[str, object]:
    found = await client.call_tool(tool, dict(given))
    assert not found.is_error, found
    answer: dict[str, object] = found.structured_content["answer"]
    return answer


def _rows(answer: Mapping[str, object], name: str) -> list[dict[str, object]]:
    rows = answer[name]
    assert isinstance(rows, list)
    return rows


def _deciding(found: Mapping[str, object]) -> dict[str, object] | None:
    """Return the finding that the verdict follows from; else the gravest above a note."""
    findings = _rows(found, "findings")
    named = [each for each in findings if each["code"] == found["decided_by"]]
    grave = [each for each in findings if each["severity"] != _NOTE]
    return next(iter((*named, *grave)), None)


def _named(arguments: Mapping[str, str | list[str]]) -> str:
    """Return the stream as a command takes it."""
    root = f" --root {arguments['root']}" if "root" in arguments else ""
    return f"{arguments['location']}{root}"


def _next(verdict: str, goal: str, location: str) -> str:
    if verdict == "not-known" or (verdict == "no-checkpoint" and goal == "none"):
        return f"holdfast diagnose {location} --probe"
    return {
        "resume": f"holdfast plan resume {location} -o plan.json",
        "replay": f"holdfast plan replay {location} -o plan.json",
        "reset": f"holdfast plan reset {location} --from earliest --output truncate -o plan.json",
        "backfill": f"holdfast diagnose {location} --probe",
        "none": "Start the stream as before.",
    }[goal]
