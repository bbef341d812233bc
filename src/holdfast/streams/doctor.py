"""What both ends of Spark Connect have and lack: `holdfast doctor --remote`. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from holdfast.errors import HoldfastError, MissingExtraError
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.port import port_of
from holdfast.spark.ports_open import refuses_connections
from holdfast.spark.refusal import UnsupportedSparkError
from holdfast.streams.far_look import Asked, Looked, ask, look, look_on_executor
from holdfast.streams.resolve import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PORT = 15002
_HOLDFAST = "install Holdfast in the Python of the server (its PYSPARK_PYTHON)"
_NOT_RUN = (
    "whether both ends reach the root of the streams: hf.start compares the lease it has taken",
    "whether both ends reach the same database: hf.start compares the epoch that it has written",
    "how long the platform lets a query and its worker live",
)


class ServerAwayError(HoldfastError):
    """The server of Spark Connect cannot be asked."""

    code = "SERVER_AWAY"
    retryable = True

    def __init__(self, why: str) -> None:
        super().__init__(
            what="The server was not looked at.",
            why=f"It did not answer: {why}",
            how="Check its address, and that this Python has what pyspark[connect] asks for.",
        )


class State(StrEnum):
    """How one thing stands."""

    FOUND = "found"
    MISSING = "missing"
    UNKNOWN = "unknown"
    NOT_RUN = "not run"


class Line(msgspec.Struct, frozen=True):
    """One thing that was looked at, or that was not."""

    state: State
    said: str


def examine(remote: str, asked: Asked) -> tuple[Line, ...]:
    """Look at both ends of a session.

    Args:
        remote: The server's URL.
        asked: The names of the secrets that sinks will use.

    Raises:
        ServerAwayError: It does not answer.
        MissingExtraError: PySpark is not installed.
    """
    spark = _connect(remote)
    here, there = look(asked), ask(spark, asked)
    lines = [_version(spark), *_compare(here, there), *_executor(spark, asked)]
    return (*lines, *(Line(State.NOT_RUN, each) for each in _NOT_RUN))


def _connect(remote: str) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        doing = "The server was not looked at"
        raise MissingExtraError(doing, module="pyspark", extra="spark") from error
    address = urlsplit(remote)
    if refuses_connections(address.hostname, address.port or _PORT):
        raise ServerAwayError("nobody listens there.")  # its client would try for minutes
    try:
        spark = SparkSession.builder.remote(remote).getOrCreate()
        str(spark.version)  # nothing is sent before it
    except _not_reached() as error:
        raise ServerAwayError(first_line(error)) from None
    return spark


def _not_reached() -> tuple[type[Exception], ...]:
    return (*spark_errors(), ImportError)


def _not_answered() -> tuple[type[Exception], ...]:
    return (*spark_errors(), ValueError)  # the latter: an older Holdfast there


def _version(spark: SparkSession) -> Line:
    try:
        check_session(spark)
    except UnsupportedSparkError as error:
        return Line(State.MISSING, error.why)
    return Line(State.FOUND, f"Spark {spark.version} on the server")


def _compare(here: Looked, there: Looked | str) -> Iterator[Line]:
    yield Line(State.FOUND, f"PySpark {here.pyspark} and Holdfast {here.holdfast} on this client")
    yield from _secrets(here, "on this client")
    if isinstance(there, str):
        yield Line(State.MISSING, f"Holdfast in the worker of the server: {there}; {_HOLDFAST}")
        return
    yield _same("Python", _minor(here.python), _minor(there.python))
    yield _same("Holdfast", here.holdfast, there.holdfast)
    for each in here.modules:
        is_there = each in there.modules
        yield Line(
            State.FOUND if is_there else State.MISSING,
            f"{each} in the worker" + ("" if is_there else ", which this client has"),
        )
    yield from _secrets(there, "in the worker")


def _same(name: str, here: str, there: str) -> Line:
    if here == there:
        return Line(State.FOUND, f"{name} {there} in the worker, as on this client")
    said = f"{name} {there} in the worker, and {here} on this client: install the same on both"
    return Line(State.MISSING, said)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _secrets(looked: Looked, where: str) -> Iterator[Line]:
    for name, problem in looked.secrets.items():
        if problem:
            yield Line(State.MISSING, f"{name} {where}: {problem}")
        else:
            yield Line(State.FOUND, f"{name} {where}")


def _executor(spark: SparkSession, asked: Asked) -> Iterator[Line]:
    task = partial(look_on_executor, msgspec.json.encode(asked))
    try:
        (answer,) = port_of(spark).run_task(spark, task)
        found = msgspec.json.decode(answer, type=Looked)
    except _not_answered() as error:
        why = first_line(error)
        said = f"Holdfast on executors, which write batches too large for the worker: {why}"
        yield Line(State.UNKNOWN, said)
        return
    yield Line(State.FOUND, f"Holdfast {found.holdfast} and Python {found.python} on an executor")
