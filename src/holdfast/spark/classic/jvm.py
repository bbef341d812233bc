"""The JVM of a classic session: its objects, what a call can raise, whether it is still there."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Java(Protocol):
    """An object of the JVM, a class or a package: what it has is known there alone.

    py4j turns text, numbers and booleans into Python's; `str`, `int` and `bool` say what is meant.
    """

    def __getattr__(self, name: str, /) -> Java: ...
    def __call__(self, *given: object) -> Java: ...  # noqa: D102 - as Java has it
    def __iter__(self) -> Iterator[Java]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> Java: ...
    def __setitem__(self, place: int, value: object, /) -> None: ...
    def __bool__(self) -> bool: ...
    def __index__(self) -> int: ...
    def __bytes__(self) -> bytes: ...


def is_classic(spark: object) -> bool:
    """Return whether a session runs in this driver's own JVM; one of Spark Connect does not."""
    return hasattr(spark, "_jsparkSession")


def jvm_of(spark: SparkSession) -> Java:
    """Return the packages of a session's JVM."""
    found: Java | None = spark._jvm
    assert found is not None
    return found


def text_or_none(found: Java | None) -> str | None:
    """Return a text of Java; None for its null."""
    return None if found is None else str(found)


def new_array(spark: SparkSession, kind: Java, size: int) -> Java:
    """Return an array of Java's own."""
    made: Java = spark.sparkContext._gateway.new_array(kind, size)  # type: ignore[union-attr]
    return made


def call_errors() -> tuple[type[Exception], ...]:
    """Return what py4j raises when Spark does not translate an error of the JVM."""
    from py4j.protocol import Py4JError

    return (Py4JError,)


_SECONDS = 5.0
_NO_OBJECT = "does not exist"
"""What py4j says of an object that the JVM does not know any more."""


def is_certainly_gone(query: StreamingQuery, error: Exception) -> bool:
    """Return whether a query is gone, so that it cannot run any more.

    A call can fail here although the JVM runs on: this process has too many files open, or the
    connection was cut. Only a port that refuses connections tells that the JVM is gone.

    Args:
        query: Of PySpark.
        error: What a call to it has raised.
    """
    if isinstance(error, ConnectionRefusedError):
        return True
    if isinstance(error, OSError) or _is_lost_call(error):
        return _refuses_connections(query)
    return True  # the JVM itself has answered


def _is_lost_call(error: Exception) -> bool:
    from py4j.protocol import Py4JError, Py4JJavaError

    is_answer = isinstance(error, Py4JJavaError) or _NO_OBJECT in str(error)
    return isinstance(error, Py4JError) and not is_answer


def _refuses_connections(query: StreamingQuery) -> bool:
    client = getattr(getattr(query, "_jsq", None), "_gateway_client", None)
    address = getattr(client, "address", None), getattr(client, "port", None)
    if None in address:
        return False
    try:
        socket.create_connection(address, timeout=_SECONDS).close()
    except ConnectionRefusedError:
        return True
    except OSError:  # not known: this process cannot ask
        return False
    return False
