"""`holdfast pipeline show MODULE:PIPELINE`: how the streams of a pipeline hang together."""

from __future__ import annotations

import click

from holdfast.cli.declared_pipeline import STARTING_SPARK, load_pipeline, local_session
from holdfast.cli.options import with_format
from holdfast.cli.progress import progress
from holdfast.report.envelope import render_simple


@click.group(short_help="Pipelines of several streams.")
def pipeline() -> None:
    """Look at pipelines that are declared with hf.Pipeline."""


@pipeline.command(short_help="Draw which stream reads what another writes.")
@click.argument("declared", metavar="MODULE:PIPELINE")
@with_format
def show(declared: str, form: str) -> None:
    """Draw the streams of a pipeline, each below those it reads from.

    Its functions are called with a local Spark session; a table that is missing is taken to be
    empty. No row is read, no query runs, and nothing is created.
    """
    with progress("holdfast.pipeline") as shown:
        shown.say(f"importing {declared}")
        found = load_pipeline(declared)
        shown.say(STARTING_SPARK)
        spark = local_session("Drawing a pipeline")
        shown.say("calling the functions of the pipeline")
        if form == "text":
            drawn = found.show(spark)
        else:
            drawn = render_simple("pipeline", {"pipeline": found.name, **found.describe(spark)})
    click.echo(drawn)
