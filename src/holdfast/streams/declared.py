"""A stream of a pipeline as it was declared, and how its DataFrame is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.sinks.sink import SinkSpec
from holdfast.spark.errors import spark_errors
from holdfast.streams.future_tables import FutureTables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Build = Callable[[Any], "DataFrame"]
"""From a Spark session, or what stands for one, to a streaming DataFrame."""


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """One stream of a pipeline, as it was declared."""

    name: str
    build: Build
    sinks: tuple[SinkSpec, ...]
    options: dict[str, Any]
    """As for `start`: trigger, outputMode."""


def build_one(
    spark: SparkSession, declared: Declared, future: FutureTables
) -> tuple[DataFrame, tuple[str, ...]]:
    """Return a stream's DataFrame, and the tables it reads that are not there yet.

    Raises:
        Exception: What the function of the stream raises, one of Spark's as a rule.
    """
    try:
        return declared.build(spark), ()
    except spark_errors():
        if not future:
            raise
        df = declared.build(future.session())
        if not future.opened:
            raise
        return df, future.opened
