"""The exceptions that a call into Spark can raise."""

from __future__ import annotations


def spark_errors() -> tuple[type[Exception], ...]:
    """Return them: Spark's own, and py4j's for what Spark does not translate or a JVM that is gone.

    Imported when needed: reading a checkpoint must work without Spark.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError
