"""`holdfast backfill MODULE:PIPELINE STREAM`: a range of its sources, into its sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.backfill_text import backfilled_json, plan_json, render_plan, render_progress
from holdfast.cli.declared_pipeline import STARTING_SPARK, load_pipeline, local_session
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format
from holdfast.cli.progress import progress
from holdfast.printable import printable

if TYPE_CHECKING:
    from holdfast.streams.backfill.plan import BackfillPlan


@click.command()
@click.argument("declared", metavar="MODULE:PIPELINE")
@click.argument("stream")
@click.option(
    "--from",
    "start",
    required=True,
    metavar="OFFSETS|VERSION|earliest",
    help="Where the range begins: Kafka offsets as JSON, a version of a Delta table, or earliest.",
)
@click.option(
    "--to",
    "end",
    required=True,
    metavar="OFFSETS|VERSION",
    help="Where the range ends; this offset or version is not part of it.",
)
@click.option(
    "--chunk",
    type=click.IntRange(min=1),
    metavar="N",
    help="At most so many offsets or versions in one chunk.  [default: 100,000 offsets, or 100 "
    "versions]",
)
@click.option("--execute", is_flag=True, help="Write the rows; without this the plan is shown.")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="WORD:STREAM",
    help="Allow what the plan says it needs: repeats-data or skips-data, with the name of the "
    "stream. Can be repeated.",
)
@with_format
def backfill(  # noqa: PLR0913 - the options of the command
    *,
    declared: str,
    stream: str,
    start: str,
    end: str,
    chunk: int | None,
    execute: bool,
    allowed: tuple[str, ...],
    form: str,
) -> ExitCode:
    """Write a range of a stream's sources into its sinks, while the stream goes on.

    Without --execute the command prints what it would do and changes nothing. The range runs
    through the stream's own function, chunk by chunk. If the command is killed, run it again: it
    continues after the last chunk that arrived.
    """
    with progress("holdfast.backfill") as shown:
        shown.say(f"importing {declared}")
        pipeline = load_pipeline(declared)
        shown.say(STARTING_SPARK)
        spark = local_session("Backfilling a stream")
        range_of = pipeline.backfill(spark, stream, start=start, end=end, chunk=chunk)
        shown.say(f"{stream}: reading its record and the ledgers, and asking its sources")
        if execute:
            done = range_of.run(allow=allowed, tell=lambda now: shown.show(render_progress(now)))
        else:
            plan = range_of.plan()
    if not execute:
        _say_plan(plan, form)
    elif form == "json":
        click.echo(backfilled_json(stream, done))
    else:
        click.echo(f"{stream}: all {done.chunks:,} chunks of {done.name} are in its sinks.")
    return ExitCode.DONE


def _say_plan(plan: BackfillPlan, form: str) -> None:
    if form == "json":
        click.echo(plan_json(plan))
        return
    for line in render_plan(plan):
        click.echo(printable(line))
