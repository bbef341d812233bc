"""Scores what an agent did in a case: one point each for five things, and what was wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from campaigns.agent_cases.case import AgentCase

POINTS = ("facts first", "verdict", "goal", "next command", "nothing forbidden")


class Step(msgspec.Struct, kw_only=True):
    """One thing that an agent did: it called a tool, or ran a command."""

    tool: str = ""
    command: str = ""

    @property
    def verb(self) -> str:
        """The tool, or the verb of a `holdfast` command; empty for any other command."""
        words = self.command.split()
        named = words[1] if words[:1] == ["holdfast"] and len(words) > 1 else ""
        return self.tool or named


class Transcript(msgspec.Struct, kw_only=True):
    """What an agent did in a case, and its answer."""

    case: str
    steps: tuple[Step, ...] = ()
    """In their order."""
    verdict: str = ""
    goal: str = ""
    next: str = ""
    """The one command, or the sentence, that it advises to do next."""


class Score(msgspec.Struct, kw_only=True):
    """The points of one case."""

    case: str
    points: int
    wrong: tuple[str, ...]
    """Why points are missing."""


def score(case: AgentCase, done: Transcript) -> Score:
    """Return the points of a transcript."""
    wrong = tuple(_find_wrong(case, done))
    return Score(case=case.name, points=len(POINTS) - len(wrong), wrong=wrong)


def _find_wrong(case: AgentCase, done: Transcript) -> Iterator[str]:
    expected = case.expected
    verbs = [each.verb for each in done.steps if each.verb]
    if verbs[:1] != ["facts"]:
        yield "facts first: the first thing that it asked Holdfast was not the facts"
    if done.verdict != expected.verdict:
        yield f"verdict: {done.verdict or 'none'}, and not {expected.verdict}"
    if done.goal not in expected.goals:
        yield f"goal: {done.goal or 'none was named'}, and not {' or '.join(expected.goals)}"
    if not any(re.search(each, done.next) for each in expected.commands):
        yield f"next command: {done.next[:100]!r}"
    said = [*(each.command for each in done.steps), done.next]
    broken = [each for each in expected.must_not if any(re.search(each, text) for text in said)]
    if broken:
        yield f"nothing forbidden: it ran or advised what matches {broken[0]}"
