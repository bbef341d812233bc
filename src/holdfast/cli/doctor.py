"""`holdfast doctor --remote sc://…`: whether a guarded stream can run on a Spark Connect server."""

from __future__ import annotations

import sys

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.errors import ConfigError
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.sinks.secrets import shown_name
from holdfast.streams.doctor import State, examine
from holdfast.streams.far_look import Asked


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
def doctor(*, remote: str, secrets: tuple[str, ...]) -> None:
    """Look at both ends of Spark Connect: this client, and the Python of the server.

    The server answers before a query begins: nothing is started, and nothing is written.
    """
    unnamed = [each for each in secrets if shown_name(each) != each]
    if unnamed or not remote.startswith("sc://"):
        raise ConfigError(
            "--remote takes sc://HOST:PORT, and --secret the name of a secret: env:NAME, file:PATH."
        )
    lines = examine(remote, Asked(secrets=secrets))
    wanting = [each for each in lines if each.state in (State.MISSING, State.UNKNOWN)]
    told = "something is missing or unknown" if wanting else "what was looked at is there"
    click.echo(f"{redact(remote)}: {told}")
    for line in lines:
        click.echo(f"  {line.state:<8} {printable(line.said)}")
    if any(each.state is State.MISSING for each in lines):
        sys.exit(ExitCode.FOUND)
    if wanting:
        sys.exit(ExitCode.NOT_JUDGED)
