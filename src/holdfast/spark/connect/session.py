"""Sessions of Spark Connect, and what a start or a call to a server raises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from holdfast.errors import HoldfastError
from holdfast.spark.connect.refusals import refuse
from holdfast.spark.connect.untyped import untyped
from holdfast.spark.errors import condition_of, spark_errors
from holdfast.spark.ports_open import refuses_connections

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_PACKAGE = "pyspark.sql.connect"
_NOT_BEGUN = "STREAMING_PYTHON_RUNNER_INITIALIZATION_FAILURE"
_TOO_SLOW = "Python worker failed to connect back"
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_TOLD = re.compile(r"holdfast-far-end: (.*?) \| (.*?) \| (.*?) :far-end")
_LOST = ("UNAVAILABLE", "Connection refused", "failed to connect", "Socket closed")


class ServerLacksError(HoldfastError):
    """The server's Python cannot write the batches of a guarded stream."""

    code = "SERVER_LACKS"

    def __init__(self, why: str, how: str) -> None:
        super().__init__(
            what="The stream was not started; nothing was written.",
            why=why,
            how=how,
        )


class ServerBusyError(HoldfastError):
    """The server could not start the process of the batches in time; it can be tried again."""

    code = "SERVER_BUSY"
    retryable = True

    def __init__(self) -> None:
        super().__init__(
            what="The stream was not started; nothing was written.",
            why="The process that writes its batches did not come up within the ten seconds that "
            "Spark waits for it: the server is under load.",
            how="Start it again.",
        )


@contextmanager
def own_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Give a copy of a session, with its settings and temporary views; then it is gone.

    Raises:
        UnsupportedSparkError: This version of Spark cannot copy a session.
    """
    clone = getattr(spark, "cloneSession", None)
    if clone is None:
        refuse("hf.Delta with keys=", "Spark copies a session from version 4.1 on")
    copied: SparkSession = clone()
    try:
        yield copied
    finally:
        with suppress(*spark_errors()):
            untyped(copied).client.release_session()
        untyped(copied).client.close()


def is_connect(given: object) -> bool:
    """Return whether something is of Spark Connect: a session, a DataFrame, a writer, a query.

    Its DataFrame has every attribute, as a column: its class alone tells what it is.
    """
    return any(each.__module__.startswith(_PACKAGE) for each in type(given).__mro__)


def read_start_error(error: Exception) -> HoldfastError | None:
    """Return what a start that failed means, when its batches could not be received there."""
    text = str(error)
    if _TOO_SLOW in text:
        return ServerBusyError()
    if _NOT_BEGUN not in text and condition_of(error) != _NOT_BEGUN:
        return None
    if (told := _TOLD.search(text)) is not None:
        return ServerLacksError(f"{told[1]} {told[2]}", told[3])
    if (missing := _NO_MODULE.search(text)) is not None:
        return ServerLacksError(
            f"The server's Python has no module {missing[1]}.",
            f"Install {'it' if missing[1] != 'holdfast' else 'Holdfast'} in the Python that the "
            "server runs functions with (its PYSPARK_PYTHON), in the version of this client. To "
            "look at both ends, run: holdfast doctor --remote sc://…",
        )
    return None


def is_certainly_gone(query: StreamingQuery, error: Exception) -> bool:
    """Return whether a query is gone, after a call to it has raised an error.

    Args:
        query: Of Spark Connect.
        error: What a call to it has raised.
    """
    if not any(each in str(error) for each in _LOST):
        return True  # the server itself has answered
    session = untyped(query)._session
    address = urlsplit(f"//{session.client._builder.endpoint}")
    return refuses_connections(address.hostname, address.port)
