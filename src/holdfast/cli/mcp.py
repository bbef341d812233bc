"""`holdfast mcp --root LOCATION`: the commands that read, as tools for an agent."""

from __future__ import annotations

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_storage_options


@click.command()
@click.option(
    "--root",
    "roots",
    multiple=True,
    required=True,
    metavar="LOCATION",
    help="The tools read below this place, and nowhere else. Name a directory above the "
    "checkpoints. Can be repeated.",
)
@click.option(
    "--allow-apply",
    is_flag=True,
    help="Add the tool `apply`. It carries out a plan only with the digest that "
    "`holdfast apply PLAN --approve` printed for a person.",
)
@click.option(
    "--allow-connect",
    is_flag=True,
    help="Let the tools ask the Kafka brokers and databases that the record of a stream names.",
)
@with_storage_options
def mcp(
    *,
    roots: tuple[str, ...],
    allow_apply: bool,
    allow_connect: bool,
    storage_options: tuple[str, ...],
) -> ExitCode:
    """Serve read-only tools to an agent, over standard input and output (MCP).

    The tools are commands of holdfast: facts, diagnose, inspect, state, explain, lint, audit, and
    plan, which is rehearsed in memory. They read below the roots only, and write nothing. Needs
    the extra `mcp`.
    """
    from holdfast.cli.mcp_server.reply import Serving  # noqa: PLC0415 - every command is in it
    from holdfast.cli.mcp_server.roots import Roots  # noqa: PLC0415
    from holdfast.cli.mcp_server.server import serve  # noqa: PLC0415
    from holdfast.storage.options import parse_options  # noqa: PLC0415

    named = Roots(roots, allows_connections=allow_connect)
    for place in named.missing():
        click.echo(f"holdfast mcp: the root {place} does not exist.", err=True)
    serve(
        Serving(
            roots=named,
            storage_options=parse_options(storage_options),
            allows_apply=allow_apply,
        )
    )
    return ExitCode.DONE
