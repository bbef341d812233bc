"""The settings of a session of Spark Connect, by their names in Hadoop."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "spark.hadoop."
_DEFAULT = "fs.defaultFS"


class SessionSettings:
    """What the session says of stores; files of Hadoop itself stay on the server, unread."""

    def __init__(self, spark: SparkSession) -> None:
        """Read nothing yet."""
        self._spark = spark

    def get(self, name: str, /) -> str | None:
        """Return a setting; None without one."""
        return self._spark.conf.get(f"{_PREFIX}{name}", None) or self._spark.conf.get(name, None)


def default_file_system(spark: SparkSession) -> str:
    """Return the URL of what a path without a scheme is on, as far as the session tells it."""
    return SessionSettings(spark).get(_DEFAULT) or "file:///"
