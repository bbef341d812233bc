"""Every help page ends with examples, and each of them is a command that there is."""

from __future__ import annotations

import shlex

import click
import pytest
from click.testing import CliRunner

from holdfast.cli.examples import EXAMPLES
from holdfast.cli.main import VERBS, holdfast

ALL = [(verb, each) for verb, examples in EXAMPLES.items() for each in examples]


def test_every_verb_has_examples() -> None:
    assert EXAMPLES.keys() == VERBS.keys()


@pytest.mark.parametrize(("verb", "example"), ALL)
def test_an_example_is_parsed(verb: str, example: str) -> None:
    words = shlex.split(example)
    words = words[words.index("holdfast") + 1 :]
    words = words[: words.index("|")] if "|" in words else words
    assert words[0] == verb
    command: click.Command = holdfast
    context = click.Context(holdfast, info_name="holdfast")
    while isinstance(command, click.Group):
        name, *words = words
        found = command.get_command(context, name)
        assert found is not None
        command = found
    command.make_context(command.name, list(words))


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_shows_them(verb: str) -> None:
    shown = CliRunner().invoke(holdfast, [verb, "--help"], terminal_width=200).output
    assert EXAMPLES[verb][0] in shown


def test_a_mistyped_verb_is_named() -> None:
    answer = CliRunner().invoke(holdfast, ["diagnos"])
    assert answer.exit_code == 2
    assert "Did you mean diagnose?" in answer.output
