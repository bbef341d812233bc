"""What a guarded stream needs of a session, and what is there: `hf.doctor`, `holdfast doctor`.

Nothing is started and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from holdfast.errors import ConfigError, HoldfastError, MissingExtraError
from holdfast.printable import printable
from holdfast.sinks.secrets import shown_name
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


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at of a session; as text, a line each."""

    lines: tuple[Line, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all that was looked at is there."""
        return not any(each.state in (State.MISSING, State.UNKNOWN) for each in self.lines)

    def __str__(self) -> str:
        """Return the answer, and then what it comes from."""
        said = "what was looked at is there"
        told = said if self.is_complete else "something is missing or unknown"
        lines = (f"  {each.state:<8} {printable(each.said)}" for each in self.lines)
        return "\n".join((told, *lines))


def doctor(
    spark: SparkSession, *, secrets: Sequence[str] = (), root: str | None = None
) -> Examination:
    """Say what a guarded stream of a session would have and lack.

    Nothing is started and nothing is written.

    Args:
        spark: The session, classic or Spark Connect.
        secrets: The names of those that sinks will use: `env:NAME`, `file:PATH`. No value is shown.
        root: Where checkpoints and records will be: both ends list it.

    Raises:
        ConfigError: A secret is given by its value.
    """
    return _examine(spark, _ask_for(secrets, root))


def examine(remote: str, *, secrets: Sequence[str] = (), root: str | None = None) -> Examination:
    """Look at both ends of a session on a server.

    Args:
        remote: The server's URL.
        secrets: The names of those that sinks will use.
        root: Where checkpoints and records will be.

    Raises:
        ServerAwayError: It does not answer.
        ConfigError: A secret is given by its value.
        MissingExtraError: PySpark is not installed.
    """
    asked = _ask_for(secrets, root)
    return _examine(_connect(remote), asked)


def _ask_for(secrets: Sequence[str], root: str | None) -> Asked:
    if any(shown_name(each) != each for each in secrets):
        raise ConfigError("A secret is given by its name: env:NAME or file:PATH.")
    return Asked(secrets=tuple(secrets), root=None if root is None else str(root))


def _examine(spark: SparkSession, asked: Asked) -> Examination:
    here = look(asked)
    if port_of(spark).runs_functions_elsewhere:
        there = ask(spark, asked)
        found = (_version(spark, " on the server"), *_compare(here, there), *_roots(here, there))
    else:
        found = (_version(spark, ", a classic session"), *_alone(here), *_roots(here, here))
    lines = (*found, *_executor(spark, asked))
    return Examination(lines=(*lines, *(Line(State.NOT_RUN, each) for each in _NOT_RUN)))


def _connect(remote: str) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        doing = "The server was not looked at"
        raise MissingExtraError(doing, module="pyspark", extra="spark") from error
    try:
        address = urlsplit(remote)
        host, port = address.hostname, address.port or _PORT
    except ValueError:
        host, port = None, _PORT
    if not remote.startswith("sc://") or not host:
        raise ConfigError("--remote takes sc://HOST:PORT, with parameters after a slash: /;token=…")
    if refuses_connections(host, port):
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


def _version(spark: SparkSession, where: str) -> Line:
    try:
        check_session(spark)
    except UnsupportedSparkError as error:
        return Line(State.MISSING, error.why)
    return Line(State.FOUND, f"Spark {spark.version}{where}")


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


def _alone(here: Looked) -> Iterator[Line]:
    """Say what a classic session has: this process writes the batches."""
    said = f"PySpark {here.pyspark}, Holdfast {here.holdfast} and Python {here.python}"
    yield Line(State.FOUND, said)
    yield Line(State.FOUND, f"for sinks and stores: {', '.join(here.modules) or 'nothing'}")
    yield from _secrets(here, "in this process")


def _roots(here: Looked, there: Looked | str) -> Iterator[Line]:
    """Compare what both ends see in the root; of a classic session they are one."""
    if here.root is None or isinstance(there, str) or there.root is None:
        return
    for end, seen in (("here", here.root), ("in the worker", there.root)):
        if seen.problem:
            said = f"the root {end}: {seen.problem} The session's settings were not used for it"
            yield Line(State.UNKNOWN, said)
            return
    if here.root != there.root:
        yield Line(State.MISSING, "the root in the worker is another place: it has other entries")
    elif here.root.entries:
        where = "" if here is there else " at both ends"
        yield Line(State.FOUND, f"the root, with {here.root.entries} entries in it{where}")
    else:
        said = "the root: nothing is in it, as in a place that does not exist; hf.start creates it"
        yield Line(State.UNKNOWN, said)


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
