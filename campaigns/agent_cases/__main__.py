"""Runs the cases for agents.

    python -m campaigns.agent_cases make DIR             the files of every case, and its prompt
    python -m campaigns.agent_cases score FILE.jsonl     scores transcripts, one per line
    python -m campaigns.agent_cases reference            the scripted client, through `holdfast mcp`

Ends with 1 if a point is missing.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from campaigns.agent_cases.case import AgentCase, make_case, read_cases
from campaigns.agent_cases.reference import run_cases
from campaigns.agent_cases.score import POINTS, Transcript, score

ASKED = """\
{situation}

The files are in {place}. Arguments of `diagnose` for them: {arguments}.
Answer with one JSON object: {{"case": "{name}", "steps": [{{"tool": …}} or {{"command": …}}, …],
"verdict": …, "goal": …, "next": …}}. `verdict` and `goal` are words of Holdfast; `next` is the one
command, or the sentence, that you advise to do next. Change nothing.
"""


def make(place: Path) -> None:
    """Make every case below a directory, each with the prompt for the agent."""
    for case in read_cases():
        home = place / case.name
        home.mkdir(parents=True)
        arguments = make_case(case, home)
        asked = ASKED.format(
            situation=case.situation,
            place=home,
            arguments=msgspec.json.encode(arguments).decode(),
            name=case.name,
        )
        (place / f"{case.name}.prompt.txt").write_text(asked)


def show(cases: Sequence[AgentCase], done: Sequence[Transcript]) -> int:
    """Print the points of every case; return 1 if one is missing."""
    given = {each.case: each for each in done}
    scores = [score(each, given.get(each.name, Transcript(case=each.name))) for each in cases]
    for each in scores:
        print(f"{each.points}/{len(POINTS)} {each.case}", *each.wrong, sep="\n      ")
    whole = len(POINTS) * len(scores)
    print(f"{sum(each.points for each in scores)} of {whole} points in {len(scores)} cases.")
    return int(any(each.wrong for each in scores))


def main(words: list[str]) -> int:
    """Run one of the three."""
    cases = read_cases()
    match words:
        case ["make", place]:
            make(Path(place))
            return 0
        case ["score", file]:
            lines = Path(file).read_bytes().splitlines()
            return show(cases, [msgspec.json.decode(each, type=Transcript) for each in lines])
        case ["reference"]:
            with tempfile.TemporaryDirectory() as place:
                return show(cases, asyncio.run(run_cases(cases, Path(place))))
        case _:
            print(__doc__)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
