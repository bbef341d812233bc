"""The `holdfast` command: the group every verb hangs on, and how an error becomes an exit code."""

from __future__ import annotations

import sys
import traceback

import click

from holdfast import __version__
from holdfast.cli.exit_codes import ExitCode, exit_code_of
from holdfast.errors import HoldfastError


@click.group(
    name="holdfast",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 found, 2 usage, 3 not judged, 4 refused, 5 stopped, 70 bug.",
)
@click.version_option(__version__, prog_name="holdfast")
def holdfast() -> None:
    """Make restarting a Spark Structured Streaming pipeline safe and boring."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command and leave the process with its exit code."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        result = holdfast.main(args=arguments, prog_name="holdfast", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return ExitCode.INTERRUPTED
    except HoldfastError as error:
        click.echo(f"{error.code}\n  {error.what}\n  {error.why}\n  {error.how}", err=True)
        return exit_code_of(error)
    except Exception:  # noqa: BLE001 - the one place: what nobody foresaw is our bug, and says so
        traceback.print_exc()
        click.echo("This is a bug in Holdfast. Report it with the lines above.", err=True)
        return ExitCode.BUG
    return int(result or ExitCode.DONE)
