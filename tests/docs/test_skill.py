"""The skill says what is true: its commands exist, every verdict is there, facts are first."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from docsite.llms import write_texts
from holdfast.cli.main import holdfast
from holdfast.cli.mcp_server.server import INSTRUCTIONS
from holdfast.cli.skill import FILE
from holdfast.judgement.judge import Verdict
from holdfast.plan.goal import GOALS
from tests.house.repository import ROOT

SKILL = FILE.read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", SKILL, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("holdfast ")
]
INLINE = re.findall(r"`(holdfast [a-z]+[^`]*)`", SKILL)


def parse(command: str) -> None:
    """Parse a command as the command line does, without running it."""
    words = shlex.split(command)[1:]
    found: click.Command = holdfast
    context = click.Context(holdfast, info_name="holdfast")
    while isinstance(found, click.Group):
        name, *words = words
        below = found.get_command(context, name)
        assert below is not None, command
        found = below
    found.make_context(found.name, list(words))


def test_holdfast_skill_prints_it() -> None:
    shown = CliRunner().invoke(holdfast, ["skill"])
    assert shown.output == SKILL
    assert SKILL.startswith("---\nname: holdfast\ndescription: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_skill_is_one(command: str) -> None:
    parse(command)


def test_commands_in_the_text_are_verbs_too() -> None:
    assert INLINE
    for command in INLINE:
        verb = command.split()[1]
        assert verb in holdfast.list_commands(click.Context(holdfast)), command


def test_the_facts_come_before_any_other_command() -> None:
    assert len(COMMANDS) >= 20
    assert [each.split()[1] for each in COMMANDS[:3]] == ["facts"] * 3
    headings = re.findall(r"^## (.*)$", SKILL, re.MULTILINE)
    assert headings[0] == "1. Facts first"
    assert INSTRUCTIONS.splitlines()[1].startswith("1. Facts first")


def test_every_verdict_is_explained_and_nothing_else() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", SKILL, re.MULTILINE)
    assert sorted(rows) == sorted(Verdict)


def test_the_goals_are_goals() -> None:
    named = re.findall(r"^- \*\*(\w+)\*\*:", SKILL, re.MULTILINE)
    assert {*named} - {"nothing"} <= GOALS.keys()


def test_it_says_never_to_delete() -> None:
    never = SKILL.partition("## 4. Never")[2].partition("##")[0]
    assert "Never delete, move or edit a checkpoint" in never
    assert "apply --execute" in never


def test_the_site_has_every_page_as_markdown_and_a_list_of_them(tmp_path: Path) -> None:
    write_texts(tmp_path)
    listed = re.findall(
        r"^- \[[^\]]+\]\(([^)]+)\)", (tmp_path / "llms.txt").read_text(), re.MULTILINE
    )
    pages = {str(each.relative_to(ROOT / "docs")) for each in ROOT.glob("docs/**/*.md")}
    assert sorted(listed) == sorted(pages)
    for page in pages:
        assert (tmp_path / page).read_text() == (ROOT / "docs" / page).read_text()
    assert (tmp_path / "SKILL.md").read_text() == SKILL
