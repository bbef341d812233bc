"""`holdfast facts LOCATION|STREAM`: the nine facts, each with where it was read."""

from __future__ import annotations

import sys
from typing import Any

import click

from holdfast.cli.diagnosis_text import render_facts, say_nothing
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.looks import make_looks, with_looks
from holdfast.cli.options import with_format
from holdfast.cli.sarif import say
from holdfast.cli.watch import show_wait
from holdfast.diagnosis import collect_case, find_facts


@click.command()
@click.argument("location", metavar="LOCATION|STREAM")
@with_format
@with_looks
def facts(*, location: str, form: str, **given: Any) -> ExitCode:
    """Show the nine facts that any repair begins with, each with where it was read.

    What is not known says how to find it out. Nothing is written, and Spark is not needed.
    """
    looks = make_looks(location, **given)
    with show_wait(looks.location):
        case = collect_case(looks)
    found = find_facts(case)
    if form == "json":
        from holdfast.cli.diagnosis_json import render_facts_json  # noqa: PLC0415 - slow to import

        sys.stdout.write(render_facts_json(str(case.checkpoint.location), found) + "\n")
    else:
        first = [say_nothing(case), ""] if case.checkpoint.is_empty else []
        sys.stdout.writelines(say(line) + "\n" for line in (*first, *render_facts(found)))
    return ExitCode.NOT_JUDGED if case.checkpoint.is_empty else ExitCode.DONE
