"""`holdfast accept STREAM CODE:NONCE`: go past a refusal without a change of code."""

from __future__ import annotations

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format, with_storage_options
from holdfast.errors import ConfigError
from holdfast.record.acceptances import read_accept
from holdfast.record.granting import grant
from holdfast.report.envelope import render_simple
from holdfast.storage.location import parse_location
from holdfast.storage.options import parse_options


@click.command()
@click.argument("stream")
@click.argument("codes", nargs=-1, required=True, metavar="CODE:NONCE...")
@click.option("--root", required=True, help="The root that the refused start used.")
@with_format
@with_storage_options
def accept(
    *, stream: str, codes: tuple[str, ...], root: str, form: str, storage_options: tuple[str, ...]
) -> ExitCode:
    """Let the next start of STREAM go past a refusal, once.

    CODE:NONCE is what the refusal printed, such as HF610:7c1f. Read what it does to the data there.
    It works only while the refusal is the very same one: a nonce cannot be used for another.
    """
    nonces = read_accept(" ".join(codes), name="The argument")
    if len(nonces) < len(codes):
        raise ConfigError("A code is given twice.")
    grant(parse_location(root), stream, nonces, options=parse_options(storage_options))
    given = [f"{code}:{nonce}" for code, nonce in nonces.items()]
    if form == "json":
        click.echo(render_simple("accept", {"stream": stream, "accepted": given}))
    else:
        click.echo(f"If {stream} is refused with {', '.join(given)}, its next start goes on, once.")
    return ExitCode.DONE
