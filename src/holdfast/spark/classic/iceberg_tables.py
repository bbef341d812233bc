"""The Iceberg tables of a classic session, by the classes that its JVM has of Iceberg."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import jvm_of
from holdfast.spark.iceberg_step import IcebergStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ClassicTables:
    """The tables of one session's catalogs."""

    def __init__(self, spark: SparkSession) -> None:
        """Load nothing yet."""
        self._spark = spark

    def begin(self, name: str) -> IcebergStep:
        """Return a step on the newest metadata of a table.

        Raises:
            Exception: One of `spark_errors()`; the catalog has no such table, or does not answer.
        """
        jvm = jvm_of(self._spark)
        session = self._spark._jsparkSession
        # Iceberg asks the thread's active session for its settings.
        jvm.org.apache.spark.sql.SparkSession.setActiveSession(session)
        # Spark's catalog caches tables: the one that it has is the one that a step refreshes, so
        # what Spark writes or reads next is as new as the step.
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, name)
        return IcebergStep(jvm, table)


def existing_session() -> SparkSession | None:
    """Return the session that this process has; None when it has started none."""
    # Not imported: a command that has no session must not load PySpark to find that out.
    sessions = getattr(sys.modules.get("pyspark.sql.session"), "SparkSession", None)
    found: SparkSession | None = getattr(sessions, "_instantiatedSession", None)
    return found
