"""`hf.register`: makes `format("holdfast")` known to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.datasource.versions import has_arrow_writers, refuse_version
from holdfast.errors import without_our_frames
from holdfast.spark.errors import condition_of
from holdfast.spark_versions import parse_version, supported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KNOWN = "DATA_SOURCE_ALREADY_EXISTS"


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
    if supported(spark.version) is None or not has_arrow_writers(parse_version(spark.version)):
        refuse_version(spark.version)
    from pyspark.errors import PySparkException

    from holdfast.datasource.source import HoldfastSource

    try:
        spark.dataSource.register(HoldfastSource)
    except PySparkException as error:
        # Spark found the package `pyspark_holdfast` by itself.
        if condition_of(error) != _KNOWN:
            raise
