"""`hf.register`: makes `format("holdfast")` known to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import without_our_frames
from holdfast.spark.errors import condition_of
from holdfast.spark.port import UnsupportedSparkError
from holdfast.spark_versions import SUPPORTED, parse_version, supported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KNOWN = "DATA_SOURCE_ALREADY_EXISTS"
_FIRST = (4, 1)
"""The first version whose data sources for streams take Arrow's record batches."""


@without_our_frames
def register(spark: SparkSession) -> None:
    """Make `df.writeStream.format("holdfast")` known to a session, classic or Spark Connect.

    SQL and Scala of the same session find it too. Holdfast must be installed in the Python of the
    driver's JVM and of the executors.

    Args:
        spark: The session.

    Raises:
        UnsupportedSparkError: Its version has no such data sources.
    """
    version = parse_version(spark.version)
    if version is None or supported(spark.version) is None or version[:2] < _FIRST:
        known = [each for each in SUPPORTED if (parse_version(each) or ()) >= _FIRST]
        raise UnsupportedSparkError(
            f'This is Spark {spark.version}; format("holdfast") needs data sources that take '
            "Arrow's record batches of a stream.",
            how=f"Use PySpark {', '.join(known)}, or hf.start.",
        )
    from pyspark.errors import PySparkException

    from holdfast.datasource.source import HoldfastSource

    try:
        spark.dataSource.register(HoldfastSource)
    except PySparkException as error:
        # Spark found the package `pyspark_holdfast` by itself.
        if condition_of(error) != _KNOWN:
            raise
