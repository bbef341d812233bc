"""The pipeline that MODULE:PIPELINE names, and the session that its functions are called with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from holdfast.errors import ConfigError, MissingExtraError
from holdfast.named import load_named, make_importable
from holdfast.plan.goal import Code

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

with_pipeline = click.option(
    "--pipeline",
    metavar="MODULE:PIPELINE",
    help="The pipeline that declares the stream. Needed by a backfill, which runs the stream's "
    "function.",
)
STARTING_SPARK = "starting a Spark session"
"""A step of several seconds, said before it begins."""


def load_pipeline(declared: str) -> Any:
    """Return the pipeline that a module has under a name.

    Raises:
        ConfigError: There is none.
    """
    if ":" not in declared:
        raise ConfigError(f"{declared!r} is no pipeline: give MODULE:NAME of an hf.Pipeline.")
    make_importable(Path.cwd())
    found = load_named(declared)
    if not hasattr(found, "show"):
        raise ConfigError(f"{declared!r} is no pipeline: give MODULE:NAME of an hf.Pipeline.")
    return found


def local_session(doing: str) -> SparkSession:
    """Return a Spark session of this process, with the settings of its environment.

    Args:
        doing: What needs it, for the error if PySpark is not installed.

    Raises:
        MissingExtraError: PySpark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError(doing, module="pyspark", extra="spark") from error
    return SparkSession.builder.getOrCreate()


def code_of(declared: str | None) -> Code | None:
    """Return the code of a stream, with a session; None if no pipeline is named."""
    if declared is None:
        return None
    pipeline = load_pipeline(declared)
    return Code(spark=local_session("Running a stream's code"), pipeline=pipeline)
