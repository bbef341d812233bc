"""The exceptions that a call into Spark can raise."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.redact import redact

if TYPE_CHECKING:
    from holdfast.spark.classic.jvm import Java

_STACK = ("at ", "Caused by", "...")
_WORKER = "thrown from the Python worker"
_AWAITED = "Exception thrown in awaitResult:"
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
_NOT_SPARKS = re.compile(r"Cannot find main error class '([A-Z][A-Z0-9_.]+)'")
"""PySpark asks Spark for the text of every condition, and Spark does not know a connector's."""
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


def java_condition_of(error: BaseException) -> str:
    """Return the error condition of a Java exception that PySpark does not translate, or ''."""
    texts = [str(at.getMessage()) for at in _java_causes(error)]
    told = (_NOT_SPARKS.search(text) or _CONDITION.match(text) for text in texts)
    return next((found[1] for found in told if found is not None), "")


def java_names(error: BaseException) -> tuple[str, ...]:
    """Return the classes of a Java exception and its causes; empty when it is none."""
    return tuple(str(at.getClass().getSimpleName()) for at in _java_causes(error))


def _java_causes(error: BaseException) -> Iterator[Java]:
    """Yield a Java exception and its causes; nothing when it is none."""
    at: Java | None = getattr(error, "java_exception", None)
    at = getattr(error, "_origin", None) if at is None else at
    for _ in range(_MOST_CAUSES):
        if at is None:
            return
        yield at
        at = at.getCause()


def first_line(error: BaseException) -> str:
    """Return the line of an error that says what went wrong, without secrets.

    It is the first one, where it is not py4j's or a Python worker's heading; the rest is a plan or
    a stack.
    """
    line = _first_line(redact(str(error))) or type(error).__name__
    if not line.endswith(_AWAITED):
        return line
    # Spark 3.5 says of a MERGE only that it has failed; why is in the causes.
    causes = (str(at.getMessage()).partition("\n")[0].strip() for at in _java_causes(error))
    return redact(next((each for each in causes if not each.endswith(_AWAITED)), line))


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(_STACK)]
    if len(told) > 1 and told[0].startswith("An error occurred while calling"):
        return told[1].removeprefix(": ")
    if told and _WORKER in told[0]:
        return next((line for line in reversed(told) if not line.startswith("SQLSTATE")), told[0])
    return told[0] if told else ""
