"""The answer where there is no plan: why, and the command that comes nearest."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.plan.plan_file import NoPlan
from holdfast.printable import printable
from holdfast.report.envelope import render_simple


def encode_no_plan(found: NoPlan) -> bytes:
    """Return the answer as JSON; `apply` refuses such a file."""
    said = {"reason": found.reason, "nearest": found.nearest, "is_fine": found.is_fine}
    return render_simple("no-plan", said).encode() + b"\n"


def say_no_plan(found: NoPlan, form: str) -> ExitCode:
    """Say why there is no plan; return how the command ends."""
    if form == "json":
        click.echo(encode_no_plan(found), nl=False)
    else:
        for line in _render(found):
            click.echo(printable(line))
    return ExitCode.DONE if found.is_fine else ExitCode.REFUSED


def _render(found: NoPlan) -> Iterator[str]:
    reason = found.reason.replace("the ", "The ", 1) if found.reason[:4] == "the " else found.reason
    yield reason if found.is_fine else f"No plan. {reason}"
    if found.nearest:
        yield f"Nearest: {found.nearest}"
