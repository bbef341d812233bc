"""`holdfast check`: whether new code can continue on its checkpoints, for CI."""

from __future__ import annotations

from collections.abc import Mapping

import click
from msgspec.structs import replace

from holdfast.cli.check_json import check_json
from holdfast.cli.check_lines import check_lines
from holdfast.cli.declared_pipeline import STARTING_SPARK, load_pipeline, local_session
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.looks import with_event_log
from holdfast.cli.options import with_format
from holdfast.cli.progress import Progress, progress
from holdfast.errors import ConfigError
from holdfast.redact import redact
from holdfast.rules.compatibility import CodeCheck, Compatibility
from holdfast.streams.program_check import SECONDS, check_program


@click.command()
@click.argument("declared", metavar="MODULE:PIPELINE | FILE.py")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS...]")
@click.option("--stream", "streams", multiple=True, metavar="NAME", help="Check only this stream.")
@click.option("--root", help="Where checkpoints and records are, instead of the pipeline's root.")
@with_event_log
@click.option(
    "--conf",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the Spark session of FILE.py; it wins over the program's. Can be repeated.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long FILE.py may take.",
)
@with_format
def check(  # noqa: PLR0913 - one argument per option of the command
    *,
    declared: str,
    arguments: tuple[str, ...],
    streams: tuple[str, ...],
    root: str | None,
    event_log: str | None,
    settings: tuple[str, ...],
    timeout: float,
    form: str,
) -> ExitCode:
    """Say whether new code can continue on its checkpoints, before it is deployed.

    The functions of a pipeline, or a program, are run with a local Spark session. Their plans are
    compared with the checkpoint and with the last run: its contract, or for plain queries of a
    program Spark's event log. No query is started, and Spark writes nothing. The exit code is 1
    when a stream is incompatible and 3 when something could not be compared.
    """
    with progress("holdfast.check") as shown:
        if declared.endswith(".py"):
            _refuse(declared, {"--root": root})
            shown.say(f"running {declared} up to its starts")
            given = dict(map(_split_setting, settings))
            checked = check_program(
                declared, arguments, settings=given, event_log=event_log, seconds=timeout
            )
            found = _only(checked, streams)
        else:
            _refuse(declared, {"--event-log": event_log, "--conf": settings, "ARGS": arguments})
            found = _check_pipeline(declared, shown, only=streams, root=root)
    for line in (check_json(found),) if form == "json" else check_lines(found):
        click.echo(line)
    return _exit_code(found.verdict)


def _check_pipeline(
    declared: str, shown: Progress, *, only: tuple[str, ...], root: str | None
) -> CodeCheck:
    shown.say(f"importing {declared}")
    pipeline = load_pipeline(declared)
    shown.say(STARTING_SPARK)
    spark = local_session("Checking a pipeline")
    checks = pipeline.check(spark, only=only or None, root=root)
    return CodeCheck(name=pipeline.name, checks=tuple(checks))


def _refuse(declared: str, given: Mapping[str, object]) -> None:
    """Refuse what is for the other kind of code.

    Raises:
        ConfigError: It was given.
    """
    named = [name for name, value in given.items() if value]
    if named:
        kind = "a program" if declared.endswith(".py") else "a pipeline"
        raise ConfigError(f"{declared} is {kind}, which takes no {' and no '.join(named)}.")


def _split_setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"--conf {redact(text)} is not of the form KEY=VALUE.")
    return name, value


def _only(found: CodeCheck, streams: tuple[str, ...]) -> CodeCheck:
    """Return what was found of the queries of some names, or of all.

    Raises:
        ConfigError: The program has none of a name.
    """
    names = {each.stream for each in found.checks}
    if unknown := [name for name in streams if name not in names]:
        there = ", ".join(sorted(names))
        raise ConfigError(f"{found.name} starts no {', '.join(unknown)}. It starts {there}.")
    kept = tuple(each for each in found.checks if not streams or each.stream in streams)
    return replace(found, checks=kept)


def _exit_code(verdict: Compatibility) -> ExitCode:
    codes = {
        Compatibility.INCOMPATIBLE: ExitCode.FOUND,
        Compatibility.UNKNOWN: ExitCode.NOT_JUDGED,
    }
    return codes.get(verdict, ExitCode.DONE)
