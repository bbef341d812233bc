"""The pipeline that MODULE:PIPELINE names, and the session that its functions are called with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.errors import ConfigError, MissingExtraError
from holdfast.named import load_named, make_importable

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


def local_session(doing: str) -> Any:
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
