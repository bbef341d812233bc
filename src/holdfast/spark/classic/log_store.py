"""What a session writes Delta's log with: the class, whether it is there, what its store can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import call_errors, jvm_of
from holdfast.spark.errors import spark_errors
from holdfast.spark.plans import LogStoreSetup
from holdfast.storage.location import Location, spark_location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = ("spark.delta.logStore.s3a.impl", "spark.delta.logStore.class")
_CONDITION = "fs.option.create.conditional.overwrite"


def describe_log_store(location: Location, spark: SparkSession) -> LogStoreSetup:
    """Return what Delta writes the log of a table with.

    Delta reads the settings that the application was started with, and not those of the session.
    """
    given = spark.sparkContext.getConf()
    name = next(filter(None, (given.get(each) for each in _SETTINGS)), None)
    return LogStoreSetup(
        class_name=name,
        is_loaded=name is None or _is_loaded(name, spark),
        sends_condition=name is not None and _sends_condition(location, spark),
        hadoop=str(jvm_of(spark).org.apache.hadoop.util.VersionInfo.getVersion()),
    )


def _is_loaded(name: str, spark: SparkSession) -> bool:
    try:
        jvm_of(spark).org.apache.spark.util.Utils.getContextOrSparkClassLoader().loadClass(name)
    except (*spark_errors(), *call_errors()):
        return False
    return True


def _sends_condition(location: Location, spark: SparkSession) -> bool:
    """Return whether the file system of a location can create a file only if there is none."""
    settings = spark._jsparkSession.sessionState().newHadoopConf()
    path = jvm_of(spark).org.apache.hadoop.fs.Path(spark_location(location))
    return bool(path.getFileSystem(settings).hasPathCapability(path, _CONDITION))
