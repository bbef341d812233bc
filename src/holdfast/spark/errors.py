"""The exceptions that a call into Spark can raise."""

from __future__ import annotations

from holdfast.redact import redact

_STACK = ("at ", "Caused by", "...")
_WORKER = "thrown from the Python worker"
_MOST_CAUSES = 8


def spark_errors() -> tuple[type[Exception], ...]:
    """Return them: Spark's own, py4j's for what Spark does not translate, and those of its socket.

    A JVM that is gone is told by py4j once, and by the refused connection from then on.

    Imported when needed: reading a checkpoint must work without Spark.
    """
    from pyspark.errors import PySparkException

    from holdfast.spark.classic.jvm import call_errors

    return PySparkException, *call_errors(), OSError


def unplanned() -> tuple[type[Exception], ...]:
    """Return what a version of Spark can raise whose planner is another one."""
    return (*spark_errors(), AttributeError, LookupError, TypeError)


def condition_of(error: object) -> str:
    """Return the name of Spark's error condition; empty when it has none."""
    from pyspark.errors import PySparkException

    if not isinstance(error, PySparkException):
        return ""
    name = getattr(error, "getCondition", None) or error.getErrorClass  # the latter in 3.5
    return name() or ""


def java_names(error: BaseException) -> tuple[str, ...]:
    """Return the classes of a Java exception and its causes; empty when it is none."""
    at = getattr(error, "java_exception", None)
    at = getattr(error, "_origin", None) if at is None else at
    found: list[str] = []
    while at is not None and len(found) < _MOST_CAUSES:
        found.append(str(at.getClass().getSimpleName()))
        at = at.getCause()
    return tuple(found)


def first_line(error: BaseException) -> str:
    """Return the line of an error that says what went wrong, without secrets.

    It is the first one, where it is not py4j's or a Python worker's heading; the rest is a plan or
    a stack.
    """
    lines = [line.strip() for line in redact(str(error)).splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(_STACK)]
    if len(told) > 1 and told[0].startswith("An error occurred while calling"):
        return told[1].removeprefix(": ")
    if told and _WORKER in told[0]:
        return next((line for line in reversed(told) if not line.startswith("SQLSTATE")), told[0])
    return told[0] if told else type(error).__name__
