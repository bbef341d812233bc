"""`holdfast adopt LOCATION`: what the first guarded start of a plain stream will find."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from holdfast.adoption.look import AdoptionRequest
from holdfast.adoption.model import Adoption, AdoptionVerdict
from holdfast.adoption.program import CodeFile
from holdfast.cli.adopt_text import render_adoption
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.looks import (
    make_looks,
    with_deep,
    with_event_log,
    with_probe,
    with_spark,
)
from holdfast.cli.options import with_format, with_storage_options
from holdfast.cli.watch import show_wait
from holdfast.errors import ConfigError
from holdfast.storage.location import is_inside, parse_location

_CODES = {AdoptionVerdict.READY: ExitCode.DONE, AdoptionVerdict.UNKNOWN: ExitCode.NOT_JUDGED}


@click.command()
@click.argument("location")
@click.option(
    "--code",
    "program",
    metavar="FILE[:NAME]",
    help="The program of the query, parsed and never run: its sink is read from it, and the change "
    "is printed as a diff. NAME is the query's name, the function that starts it or the line of "
    "its start, if the file has several.",
)
@click.option("--stream", metavar="NAME", help="The name that the stream gets.")
@click.option("--root", metavar="LOCATION", help="Where Holdfast's record of the stream will be.")
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="WHERE",
    help="Where it writes: a Delta table by its location, or a PostgreSQL table as env:DSN#TABLE, "
    "whose ledger is read. Can be repeated.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the diff to a file.")
@with_format
@with_event_log
@with_probe
@with_spark
@with_deep
@with_storage_options
def adopt(  # noqa: PLR0913 - one argument per option
    *,
    location: str,
    program: str | None,
    stream: str | None,
    root: str | None,
    output: str | None,
    form: str,
    **given: object,
) -> ExitCode:
    """Say whether a plain stream can be adopted, and print the change to its program.

    LOCATION is its checkpoint. The answer says which batch the first guarded start runs, whether
    the sink holds a pending batch, what the start asks, and what was not known. Nothing is changed:
    `hf.start(…, checkpoint=…)` adopts. Spark is not needed.
    """
    from holdfast.adoption.find import find_adoption  # noqa: PLC0415 - imports rules

    looks = make_looks(location, None, root=root, **given)
    code = None if program is None else _read_program(program, location)
    with show_wait(location):
        found = find_adoption(AdoptionRequest(looks=looks, stream=stream, code=code))
    if output is not None:
        _write_diff(found, Path(output), location)
    if form == "json":
        from holdfast.cli.adopt_json import adoption_json  # noqa: PLC0415 - slow to import

        sys.stdout.write(adoption_json(found) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in render_adoption(found))
    return _CODES.get(found.verdict, ExitCode.FOUND)


def _read_program(given: str, location: str) -> CodeFile:
    from holdfast.cli.program_option import open_program  # noqa: PLC0415 - the parser
    from holdfast.lint.modules import modules_beside  # noqa: PLC0415 - reads files

    path, content, which = open_program(given, parse_location(location))
    beside = modules_beside(path)
    return CodeFile(path=_shown(path), content=content, which=which, find_constants=beside)


def _shown(path: Path) -> str:
    """Return a path as a diff names it: from the directory that the command runs in, if it can."""
    here = Path.cwd()
    whole = path.absolute()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(path)


def _write_diff(found: Adoption, target: Path, location: str) -> None:
    if is_inside(parse_location(str(target)), parse_location(location)):
        raise ConfigError(f"{target} is inside the checkpoint, which is never written to.")
    if found.change.diff is None:
        raise ConfigError(f"There is no diff to write to {target}: {found.change.by_hand}.")
    try:
        target.write_text(found.change.diff)
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}.") from None
