"""The help of a command, as the command prints it."""

from __future__ import annotations

import click

from holdfast.cli.main import holdfast

WIDTH = 80


def help_of(words: list[str]) -> list[str]:
    """Return the help of `holdfast` followed by these words, as a block of text."""
    command: click.Command = holdfast
    settings = {**command.context_settings, "max_content_width": WIDTH}
    context = click.Context(command, info_name="holdfast", **settings)
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None, f"no command {word}"
        command = found
        context = click.Context(found, info_name=word, parent=context, max_content_width=WIDTH)
    return ["```text", *command.get_help(context).splitlines(), "```"]
