"""`holdfast doctor --remote sc://…`: whether a guarded stream can run on a Spark Connect server."""

from __future__ import annotations

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format
from holdfast.errors import ConfigError
from holdfast.redact import redact
from holdfast.report.envelope import render_simple
from holdfast.streams.doctor import State, examine


@click.command()
@click.option(
    "--remote",
    metavar="sc://HOST:PORT",
    required=True,
    help="The Spark Connect server, as SparkSession.builder.remote takes it.",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="env:NAME",
    help="The name of a secret that a sink will use (env:NAME or file:PATH): both ends must have "
    "it. Its value is not shown. Can be repeated.",
)
@click.option("--root", help="Where checkpoints and records will be: both ends list it.")
@with_format
def doctor(*, remote: str, secrets: tuple[str, ...], root: str | None, form: str) -> ExitCode:
    """Look at both ends of Spark Connect: this client, and the Python of the server.

    The server answers before a query begins: nothing is started, and nothing is written.
    """
    if not remote.startswith("sc://"):
        raise ConfigError("--remote takes sc://HOST:PORT.")
    found = examine(remote, secrets=secrets, root=root)
    if form == "json":
        lines = [{"state": each.state, "said": each.said} for each in found.lines]
        click.echo(render_simple("doctor", {"remote": redact(remote), "looked_at": lines}))
    else:
        click.echo(f"{redact(remote)}: {found}")
    if any(each.state is State.MISSING for each in found.lines):
        return ExitCode.FOUND
    return ExitCode.DONE if found.is_complete else ExitCode.NOT_JUDGED
