"""`holdfast backfill MODULE:PIPELINE STREAM`: a range of its sources, into its sinks."""

from __future__ import annotations

import sys

import click

from holdfast.cli.backfill_text import backfilled_json, plan_json, render_plan, render_progress
from holdfast.cli.declared_pipeline import load_pipeline, local_session
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format
from holdfast.cli.status_line import status_line
from holdfast.printable import printable


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
    pipeline = load_pipeline(declared)
    spark = local_session("Backfilling a stream")
    range_of = pipeline.backfill(spark, stream, start=start, end=end, chunk=chunk)
    if not execute:
        plan = range_of.plan()
        if form == "json":
            click.echo(plan_json(plan))
        else:
            for line in render_plan(plan):
                click.echo(printable(line))
        return ExitCode.DONE
    with status_line() as replace_line:
        show = replace_line if sys.stderr.isatty() else _write_line
        done = range_of.run(allow=allowed, tell=lambda now: show(render_progress(now)))
    if form == "json":
        click.echo(backfilled_json(stream, done))
    else:
        click.echo(f"{stream}: all {done.chunks:,} chunks of {done.name} are in its sinks.")
    return ExitCode.DONE


def _write_line(text: str) -> None:
    click.echo(printable(text), err=True)
