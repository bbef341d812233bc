"""The `holdfast` command: the group every verb hangs on, and how an error becomes an exit code."""

from __future__ import annotations

import gc
import sys
import traceback
from importlib import import_module
from io import StringIO, TextIOWrapper
from itertools import pairwise

import click

from holdfast.cli.examples import as_epilog
from holdfast.cli.exit_codes import ExitCode, exit_code_of
from holdfast.errors import HoldfastError, missing_extra
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.version import __version__

VERBS = {
    "apply": "Rehearse a plan, or carry it out.",
    "backfill": "Write a range of a stream's sources into its sinks, while the stream goes on.",
    "plan": "Say what a repair would do, and write it down as a file.",
    "undo": "Take back what a plan has done.",
    "audit": "List every streaming query, and say what a restart after a kill does to its rows.",
    "accept": "Let the next start of a stream go past a refusal, once.",
    "adopt": "Say what a guarded start of a plain stream will find, and what to change for it.",
    "diagnose": "Say whether a restart is safe, what it loses or repeats, and what repairs that.",
    "check": "Say whether new code can continue on its checkpoints, before it is deployed.",
    "doctor": "Say whether a guarded stream can run on a Spark Connect server.",
    "drill": "Kill a stream in every phase of a micro-batch; check for lost or duplicated rows.",
    "evidence": "Pack what is needed to judge a checkpoint into one sealed zip file.",
    "facts": "Show the nine facts of a stream, each with where it was read.",
    "fleet": "Scan thousands of checkpoints, and say what their next restarts do to the data.",
    "inspect": "Say what is in a checkpoint and what Spark will do on the next start.",
    "ledger": "Show how the ledger inside a sink is set up.",
    "lint": "Find code that loses or duplicates rows when a stream restarts.",
    "mcp": "Serve read-only tools to an agent, over standard input and output (MCP).",
    "pipeline": "Show which stream of a pipeline feeds which.",
    "prove": "Prove from the data that no row was lost, duplicated or altered.",
    "rules": "List the rules, and explain one.",
    "skill": "Print how an agent uses Holdfast, as a SKILL.md.",
    "state": "Say what is in the state of a checkpoint, and whether a key is in it.",
}
"""Each verb is in the module of its name; loaded when it is called, so that help stays quick."""


class Verbs(click.Group):
    """A group that loads a verb when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every verb."""
        return sorted({*VERBS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a verb."""
        if cmd_name in VERBS:
            command: click.Command = getattr(import_module(f"holdfast.cli.{cmd_name}"), cmd_name)
            command.epilog = as_epilog(cmd_name)
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a verb; of a mistyped one say which was meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # noqa: PLC0415 - nobody else needs it

            near = difflib.get_close_matches(args[0], VERBS, n=2)
            if not near:
                raise
            said = f"{error.message} Did you mean {' or '.join(near)}?"
            raise click.UsageError(said, ctx) from error

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click passes it
        formatter: click.HelpFormatter,
    ) -> None:
        """List the verbs without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(VERBS.items()))


@click.group(
    name="holdfast",
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 found, 2 usage, 3 not judged, 4 refused, 5 stopped, 70 bug.",
)
@click.version_option(__version__, prog_name="holdfast")
@click.option("--traceback", is_flag=True, help="Show the complete traceback of an error.")
def holdfast(*, traceback: bool) -> None:
    """Make restarting a Spark Structured Streaming pipeline safe and boring."""


def run(arguments: list[str] | None = None) -> None:
    """Run the command and leave the process with its exit code."""
    # Importing makes many objects and no garbage: looking for it takes a tenth of a quick command.
    gc.set_threshold(50_000)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a character gets its number instead of an error.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run_command(arguments))


def _asks_for_json(arguments: list[str] | None) -> bool:
    """Return whether the answer is read by a program, which then needs one in any case."""
    given = sys.argv[1:] if arguments is None else arguments
    pairs = pairwise(given)
    return "--format=json" in given or ("--format", "json") in pairs


def _asks_for_traceback(arguments: list[str] | None) -> bool:
    return "--traceback" in (sys.argv[1:] if arguments is None else arguments)


def _as_json(error: HoldfastError) -> str:
    said = {"code": error.code, "what": error.what, "why": error.why, "how": error.how}
    exit_code = int(exit_code_of(error))
    from holdfast.report.envelope import render_simple  # noqa: PLC0415 - costs every command 10 ms

    return render_simple("error", {**said, "exit_code": exit_code})


def run_command(arguments: list[str] | None) -> int:
    """Run the command, print what went wrong, and return the exit code."""
    try:
        result = holdfast.main(args=arguments, prog_name="holdfast", standalone_mode=False)
    except click.ClickException as error:
        quoting = StringIO()  # click quotes the arguments
        error.show(file=quoting)
        click.echo(redact(quoting.getvalue()), err=True, nl=False)
        return error.exit_code
    except click.Abort:
        click.echo("Interrupted.", err=True)
        return ExitCode.INTERRUPTED
    except HoldfastError as error:
        return _say_error(error, arguments)
    except Exception as error:  # noqa: BLE001 - the one place: what nobody foresaw is our bug
        missing = missing_extra(error) if isinstance(error, ImportError) else None
        if missing is not None:
            return _say_error(missing, arguments)
        click.echo(redact(traceback.format_exc()), err=True)
        click.echo("This is a bug in Holdfast. Report it with the lines above.", err=True)
        return ExitCode.BUG
    return int(result or ExitCode.DONE)


def _say_error(error: HoldfastError, arguments: list[str] | None) -> ExitCode:
    """Print an error, and return its exit code."""
    if _asks_for_traceback(arguments):
        click.echo(redact(traceback.format_exc()), err=True)
    if _asks_for_json(arguments):
        click.echo(_as_json(error))
    said = "\n".join((error.what, error.why, error.how))  # an excerpt of a log has many lines
    for line in (error.code, *(f"  {each}" for each in said.split("\n"))):
        click.echo(printable(line), err=True)
    return exit_code_of(error)
