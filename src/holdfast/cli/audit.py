"""`holdfast audit PATH…`: every streaming query of a repository, and what a restart does to it."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast.audit.model import Audit
from holdfast.cli.audit_formats import FORMATS
from holdfast.cli.exit_codes import ExitCode
from holdfast.linting import audit_code


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--checkpoints",
    metavar="ROOT",
    help="Say which query has which checkpoint below this location, and which checkpoint has none.",
)
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True
)
@click.option("-o", "--output", metavar="FILE", help="Write the answer to a file.")
def audit(
    *, paths: tuple[str, ...], checkpoints: str | None, form: str, output: str | None
) -> ExitCode:
    """List every streaming query, and say what a restart after a kill does to its rows.

    PATH is a Python file, a notebook, a job definition, or a directory that is searched for them.
    The code is parsed, never imported or run, and Spark is not needed. What cannot be told from
    the code is listed as not known, with the reason.
    """
    found = audit_code(*paths, checkpoints=checkpoints)
    lines = list(FORMATS[form](found))
    if output is None:
        for line in lines:
            click.echo(line)
    else:
        Path(output).write_text("\n".join(lines) + "\n")
    return _exit_code(found)


def _exit_code(found: Audit) -> ExitCode:
    if any(each.effects and not each.is_safe for each in found.queries):
        return ExitCode.FOUND
    is_judged = not found.not_known and not found.not_understood
    return ExitCode.DONE if is_judged else ExitCode.NOT_JUDGED
