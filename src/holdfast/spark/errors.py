"""The exceptions that a call into Spark can raise."""

from __future__ import annotations


def spark_errors() -> tuple[type[Exception], ...]:
    """Return them: Spark's own, py4j's for what Spark does not translate, and those of its socket.

    A JVM that is gone is told by py4j once, and by the refused connection from then on.

    Imported when needed: reading a checkpoint must work without Spark.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, OSError
