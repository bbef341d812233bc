"""A session's Hadoop configuration: `core-site.xml`, Spark's settings, and what was set later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import jvm_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PROVIDERS = "hadoop.security.credential.provider.path"
_OF_SPARK = "spark.hadoop."
"""A prefix that is gone in Hadoop's own configuration."""


class HadoopConfiguration:
    """The settings that Spark opens a store with, by their names in Hadoop."""

    def __init__(self, spark: SparkSession) -> None:
        """Take the settings of a session as they are now."""
        self._jvm = jvm_of(spark)
        self._settings = spark._jsparkSession.sessionState().newHadoopConf()
        self._has_providers = self._settings.get(_PROVIDERS) is not None

    def get(self, name: str, /) -> str | None:
        """Return a setting, also one that a credential provider keeps; None without one."""
        if name.startswith(_OF_SPARK):
            return None
        value = self._settings.get(name)
        if value is None and self._has_providers:
            characters = self._settings.getPassword(name)
            value = None if characters is None else self._jvm.java.lang.String(characters)
        return None if value is None else str(value)


def default_file_system(spark: SparkSession) -> str:
    """Return the URL of what a path without a scheme is on: `file:///`, `hdfs://namenode:8020`."""
    return HadoopConfiguration(spark).get("fs.defaultFS") or "file:///"
