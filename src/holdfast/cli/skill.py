"""`holdfast skill`: how an agent uses Holdfast, as a SKILL.md to install."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast.cli.exit_codes import ExitCode

FILE = Path(__file__).with_name("SKILL.md")


@click.command()
def skill() -> ExitCode:
    """Print how an agent uses Holdfast, as a SKILL.md.

    Write it where your agent's program looks for skills. It says to collect the facts first, to
    name the goal, what each verdict means, which command is next, and what never to do.
    """
    click.echo(FILE.read_text(encoding="utf-8"), nl=False)
    return ExitCode.DONE
