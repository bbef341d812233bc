"""The pages about repair show what the commands print, and name no command that is not there."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from holdfast.cli.main import holdfast
from tests.docs.repair_pages import (
    PAGES,
    RUN,
    follow,
    named_commands,
    read_page,
    shown_blocks,
    without_ids,
)
from tests.docs.repair_root import make_root


def parse(words: list[str]) -> None:
    """Parse a command, without running it.

    Raises:
        click.ClickException: It is none.
    """
    command: click.Command = holdfast
    context = click.Context(holdfast, info_name="holdfast")
    while isinstance(command, click.Group):
        name, *words = words
        found = command.get_command(context, name)
        if found is None:
            raise click.UsageError(f"no command {name}")
        command = found
    command.make_context(command.name, list(words))


@pytest.mark.parametrize("name", RUN)
def test_a_page_shows_what_its_commands_print(name: str, tmp_path: Path) -> None:
    make_root(tmp_path)
    ran = 0
    for block in shown_blocks(read_page(name)):
        for command, shown in block:
            assert without_ids(follow(command, tmp_path)) == without_ids(shown), command
            ran += 1
    assert ran


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_is_one(name: str) -> None:
    found = list(named_commands(read_page(name)))
    assert found
    for words in found:
        parse(words)


def test_a_command_that_is_none_is_found() -> None:
    page = "```text\n$ holdfast plan reset readings --root /srv --everything\n```"
    (words,) = named_commands(page)
    with pytest.raises(click.NoSuchOption):
        parse(words)


def test_output_that_differs_is_found(tmp_path: Path) -> None:
    make_root(tmp_path)
    ((command, shown),) = next(
        shown_blocks("```console\n$ holdfast plan resume readings --root /srv/streams\nNo.\n```")
    )
    assert without_ids(follow(command, tmp_path)) != without_ids(shown)
