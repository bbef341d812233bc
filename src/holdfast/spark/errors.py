"""The exceptions that a call into Spark can raise."""

from __future__ import annotations

from typing import Any


def spark_errors() -> tuple[type[Exception], ...]:
    """Return them: Spark's own, py4j's for what Spark does not translate, and those of its socket.

    A JVM that is gone is told by py4j once, and by the refused connection from then on.

    Imported when needed: reading a checkpoint must work without Spark.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, OSError


def condition_of(error: Any) -> str:
    """Return the name of Spark's error condition; empty when it has none."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException):
        return ""
    name = getattr(error, "getCondition", None) or error.getErrorClass  # the latter in 3.5
    return name() or ""
