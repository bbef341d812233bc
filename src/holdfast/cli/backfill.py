"""`holdfast backfill MODULE:PIPELINE STREAM`: a range of its sources, into its sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from holdfast.cli.declared_pipeline import STARTING_SPARK, load_pipeline, local_session
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.no_plan import say_no_plan
from holdfast.cli.options import with_format
from holdfast.cli.plan_text import execute_options, render_effect
from holdfast.cli.progress import progress
from holdfast.plan.goals.backfill import Range
from holdfast.plan.plan_file import NoPlan, Plan, encode_plan
from holdfast.planning import plan_backfill
from holdfast.printable import printable
from holdfast.repairing import backfill as run_backfill
from holdfast.report.envelope import render_simple

if TYPE_CHECKING:
    from holdfast.streams.backfill.prepare import BackfillProgress

_BAR = 24


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
        wanted = Range(start=start, end=end, chunk=chunk)
        shown.say(f"{stream}: reading its record and the ledgers, and asking its sources")
        if execute:

            def bar(now: BackfillProgress) -> None:
                shown.show(render_progress(now))

            done = run_backfill(pipeline, spark, stream, allow=allowed, tell=bar, **wanted)
        else:
            plan = plan_backfill(pipeline, spark, stream, **wanted)
    if not execute:
        return _say_plan(plan, form)
    if form == "json":
        said = {"stream": stream, "name": done.name, "chunks": done.chunks, "size": done.size}
        click.echo(render_simple("backfilled", said))
    else:
        click.echo(f"{stream}: all {done.chunks:,} chunks of {done.name} are in its sinks.")
    return ExitCode.DONE


def _say_plan(plan: Plan | NoPlan, form: str) -> ExitCode:
    if isinstance(plan, NoPlan):
        return say_no_plan(plan, form)
    if form == "json":
        click.echo(encode_plan(plan), nl=False)
        return ExitCode.DONE
    for line in render_effect(plan):
        click.echo(printable(line))
    click.echo("")
    click.echo(f"Run the same command with {execute_options(plan)} to write it.")
    return ExitCode.DONE


def render_progress(progress: BackfillProgress) -> str:
    """Return the line of a progress bar."""
    full = _BAR * progress.done // progress.chunks
    bar = "#" * full + "-" * (_BAR - full)
    percent = 100 * progress.done // progress.chunks
    left = int(progress.seconds_per_chunk * (progress.chunks - progress.done))
    minutes, seconds = divmod(left, 60)
    ahead = f", about {minutes}:{seconds:02} left" if left else ""
    return (
        f"[{bar}] {percent:>3}%  {progress.done:,}/{progress.chunks:,} chunks, "
        f"{progress.read:,} of {progress.size:,}{ahead}"
    )
