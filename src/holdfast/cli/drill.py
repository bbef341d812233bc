"""`holdfast drill run MODULE:FUNCTION`: kill a stream in every phase and see what restarts do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.cli.drill_options import DrillOptions
from holdfast.cli.drill_text import render_summary
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format
from holdfast.cli.progress import progress
from holdfast.cli.table import columns
from holdfast.drills.limits import SECONDS
from holdfast.printable import printable
from holdfast.report.envelope import render, render_simple

if TYPE_CHECKING:
    from holdfast.drills.drill import Drilled

_CODES = {"PASS": ExitCode.DONE, "UNKNOWN": ExitCode.NOT_JUDGED, "FAIL": ExitCode.FOUND}


@click.group(short_help="Kill a stream for real and check for lost or duplicated rows.")
def drill() -> None:
    """Kill a stream in every phase of a micro-batch; check for lost or duplicated rows."""


@drill.command("list", short_help="List the phases and the built-in drills.")
@with_format
def list_drills(form: str) -> None:
    """List every phase, and the built-in streams that are killed in it."""
    from holdfast.drills.builtin.cells import CELLS  # noqa: PLC0415 - loaded when it is called
    from holdfast.drills.phases import ALL, EVERY  # noqa: PLC0415

    if form == "json":
        shown = [
            {
                "phase": each.name,
                "shown": each.display_name,
                "kills": [str(kill) for kill in each.kills],
            }
            for each in ALL
        ]
        drills = [
            {
                "drill": name,
                "stream": cell.stream.name,
                "phase": cell.phase.name,
                "kills": [str(kill) for kill in cell.phase.kills],
            }
            for name, cell in CELLS.items()
        ]
        click.echo(render_simple("drills", {"phases": shown, "drills": drills}))
        return
    rows = [[each.name, each.display_name, ", ".join(map(str, each.kills))] for each in ALL]
    rows.append([EVERY, "all phases of a stream in one chain", "n kills take n + 1 drivers"])
    streams = list(dict.fromkeys(cell.stream.name for cell in CELLS.values()))
    click.echo(f"{len(CELLS)} drills: STREAM/PHASE of {', '.join(streams)}\n")
    click.echo("\n".join(columns([["phase", "moment", "kills"], *rows])))


@drill.command(short_help="Kill a stream in every phase: yours, or a built-in one.")
@click.argument("targets", metavar="[MODULE:NAME | DRILL]...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Every built-in drill.")
@click.option(
    "--source-sample",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory of files that replace your source: one file is one batch.",
)
@click.option("--read", metavar="MODULE:NAME", help="A function that returns what is in your sink.")
@click.option(
    "--checkpoint",
    metavar="LOCATION",
    help="Start every run from a copy of this checkpoint, which is only read.",
)
@click.option("--only", multiple=True, metavar="PHASE", help="Only this phase. Can be repeated.")
@click.option(
    "--kill-at",
    multiple=True,
    metavar="POINT",
    help="Kill your stream at this point: before-send:COMMIT:3, at:NAME. Can be repeated.",
)
@click.option("--dsn", metavar="env:NAME", help="A scratch database for built-in drills.")
@click.option("--sample", type=int, help="Run only so many built-in drills, drawn by the seed.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--directory", type=click.Path(path_type=Path), help="Where everything is kept.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=SECONDS,
    show_default=True,
    help="Stop a driver that has not ended after so many seconds.",
)
@with_format
def run(**given: Any) -> ExitCode:
    """Kill a stream in every phase of a micro-batch, restart it, and compare its rows.

    MODULE:NAME is a function that starts your stream, or an hf.Pipeline. The function takes a Spark
    session and a scratch place: scratch.source(spark) is the sample as a stream, scratch.checkpoint
    and scratch.sink are directories. The drill touches nothing else. It first runs the stream twice
    without a kill. After every kill the stream must end with the same rows.

    DRILL is a built-in stream, whose correct rows are known after every batch: delta-append,
    delta-append/commits-before, '*/commits-*'.

    A drill uses 2 shuffle partitions, 2 Delta snapshot partitions and no progress bars, unless your
    own Spark settings say otherwise.
    """
    from holdfast.drills.summary import summarize, write_summary  # noqa: PLC0415

    asked = DrillOptions(**given)
    drilled: list[Drilled] = []
    with progress("holdfast.drills") as shown:
        shown.say("preparing the drill")
        for each in asked.run():
            drilled.append(each)
            # After each, so that it is there when the rest is interrupted.
            page = write_summary(asked.about, drilled, directory=asked.place)
    found = summarize(asked.about, drilled)
    if asked.form == "json":
        click.echo(render(found))
    else:
        lines = render_summary(found, page=str(page), again=asked.again)
        click.echo("\n".join(map(printable, lines)))
    return _CODES[found.verdict]
