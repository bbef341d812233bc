"""`holdfast drill run MODULE:FUNCTION`: kill a stream in every phase and see what restarts do."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.drill_text import render_summary
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.printable import printable
from holdfast.cli.table import columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.drills.drill import Drilled
    from holdfast.drills.yours import Target

_CODES = {"PASS": ExitCode.DONE, "UNKNOWN": ExitCode.NOT_JUDGED, "FAIL": ExitCode.FOUND}
_FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)


@click.group(short_help="Kill a stream for real and judge what is left.")
def drill() -> None:
    """Kill a stream in every phase of a micro-batch, restart it, and judge what is left."""


@drill.command("list", short_help="Name the phases in which a stream is killed.")
@_FORMAT
def list_phases(form: str) -> None:
    """Name every phase: which moment it is, and where the kills strike."""
    from holdfast.drills.phases import PHASES  # noqa: PLC0415 - loaded when it is called

    if form == "json":
        entries = [
            {"phase": each.name, "shown": each.shown, "kills": [str(kill) for kill in each.kills]}
            for each in PHASES
        ]
        click.echo(json.dumps({"version": 1, "phases": entries}))
        return
    rows = [[each.name, each.shown, ", ".join(map(str, each.kills))] for each in PHASES]
    click.echo("\n".join(columns([["phase", "moment", "kills"], *rows])))


@drill.command(short_help="Kill a stream of yours in every phase.")
@click.argument("target", metavar="MODULE:FUNCTION")
@click.option(
    "--source-sample",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory of files that stand for the source: one file is one batch.",
)
@click.option("--read", metavar="MODULE:FUNCTION", help="Returns what is in the sink.")
@click.option("--only", multiple=True, metavar="PHASE", help="This phase alone. Can be repeated.")
@click.option("--directory", type=click.Path(path_type=Path), help="Where everything is kept.")
@_FORMAT
def run(  # noqa: PLR0913 - one parameter per option
    *,
    target: str,
    source_sample: Path | None,
    read: str | None,
    only: tuple[str, ...],
    directory: Path | None,
    form: str,
) -> ExitCode:
    """Kill a stream of yours in every phase of a micro-batch, and say what restarts do to it.

    The function is called with a Spark session and a scratch place, and starts the stream there:
    scratch.source(spark) is the sample as a stream, scratch.checkpoint and scratch.sink are
    directories. Nothing else is touched. The stream first runs undisturbed, twice; after every
    kill it must end with the same rows.
    """
    from msgspec import json as msgspec_json  # noqa: PLC0415

    from holdfast.drills.summary import summarize, write_summary  # noqa: PLC0415
    from holdfast.drills.yours import Target  # noqa: PLC0415

    sys.path.insert(0, str(Path.cwd()))
    place = (directory or Path(f"drill-{datetime.now():%Y-%m-%d-%H%M%S}")).resolve()  # noqa: DTZ005
    given = Target(start=target, sample=source_sample and source_sample.resolve(), read=read)
    drilled: list[Drilled] = []
    with _progress() as show:
        for each in _run(given, directory=place, only=only, show=show):
            drilled.append(each)
            page = write_summary(target, drilled, directory=place)  # there when it is interrupted
    found = summarize(target, drilled)
    if form == "json":
        click.echo(msgspec_json.encode(found))
    else:
        again = ["holdfast", "drill", "run", target]
        again += ["--source-sample", str(source_sample)] if source_sample else []
        again += ["--read", read] if read else []
        click.echo("\n".join(map(printable, render_summary(found, page=str(page), again=again))))
    return _CODES[found.verdict]


def _run(
    target: Target, *, directory: Path, only: tuple[str, ...], show: Callable[[str], None]
) -> Iterator[Drilled]:
    from holdfast.drills.phases import Phase  # noqa: PLC0415
    from holdfast.drills.yours import drill_yours  # noqa: PLC0415

    show("undisturbed, twice")
    for each in drill_yours(target, directory=directory, only=only):
        if isinstance(each, Phase):
            show(f"killed: {each.shown}")
        else:
            yield each


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Give what shows on a terminal how far it is; elsewhere it says nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import

    with Console(stderr=True).status("…") as status:
        yield status.update
