"""`holdfast undo JOURNAL`: takes back what a plan has done, through the same door."""

from __future__ import annotations

from typing import Any

import click

from holdfast.cli.apply import access_of, run_plan, with_applying
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.no_plan import say_no_plan
from holdfast.cli.plan_text import render_effect
from holdfast.plan.plan_file import NoPlan
from holdfast.printable import printable
from holdfast.repairing import plan_undo


@click.command()
@click.argument("journal")
@with_applying
def undo(*, journal: str, **given: Any) -> ExitCode:
    """Show and rehearse taking back what a plan has done; with --execute, take it back.

    JOURNAL is the directory that `holdfast apply` printed. What is taken back follows from what was
    carried out and from what has happened since: rows of other writers stay. Files come back byte
    for byte. After a reset, one more generation is opened, on the checkpoint of before.
    """
    found = plan_undo(journal, **access_of(given))
    if isinstance(found, NoPlan):
        return say_no_plan(found, given["form"])
    if given["form"] == "text" and not given["execute"]:
        for line in (*render_effect(found), ""):
            click.echo(printable(line))
    return run_plan(found, **given)
