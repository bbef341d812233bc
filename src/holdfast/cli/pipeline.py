"""`holdfast pipeline show MODULE:PIPELINE`: how the streams of a pipeline hang together."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from holdfast.cli.options import with_format
from holdfast.errors import ConfigError, MissingExtraError
from holdfast.named import load_named


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
    found = _load(declared)
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError("Drawing a pipeline", module="pyspark", extra="spark") from error
    spark = SparkSession.builder.getOrCreate()
    if form == "text":
        click.echo(found.show(spark))
        return
    click.echo(json.dumps({"version": 1, "pipeline": found.name, **found.describe(spark)}))


def _load(declared: str) -> Any:
    """Return the pipeline that a module has under a name."""
    sys.path.insert(0, str(Path.cwd()))
    found = load_named(declared)
    if not hasattr(found, "show"):
        raise ConfigError(f"{declared!r} is no pipeline: give MODULE:NAME of an hf.Pipeline.")
    return found
