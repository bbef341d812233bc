"""What the process of the batches has, asked without a query: `holdfast doctor --remote`.

A function that Spark unpickles there raises its answer, so nothing is started and nothing written.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import HoldfastError
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.spark.errors import spark_errors
from holdfast.storage.open import open_reader
from holdfast.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BEGIN, _END = "holdfast-look:", ":holdfast-look"
_ANSWER = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)
_MODULES = ("psycopg", "deltalake", "confluent_kafka", "pyarrow", "obstore")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


class RootLook(msgspec.Struct, frozen=True, kw_only=True):
    """What one Python sees in the root: it may hold thousands of streams, so no names are sent."""

    entries: int = 0
    digest: str = ""
    """Of their names."""
    problem: str = ""
    """Why it could not be listed."""


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """What one Python has."""

    python: str
    holdfast: str
    pyspark: str
    modules: tuple[str, ...]
    """Those that sinks and stores need and that are there."""
    secrets: dict[str, str] = msgspec.field(default_factory=dict)
    """Of each secret that was asked for, why it cannot be used; empty when it can."""
    host: str = ""
    root: RootLook | None = None
    """None when it was not asked for."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: names alone."""

    secrets: tuple[str, ...] = ()
    root: str | None = None


class Question:
    """A function for Spark that is answered where it is unpickled."""

    def __init__(self, asked: Asked) -> None:
        """Ask this."""
        self.asked = asked

    def __reduce__(self) -> tuple[Callable[..., object], tuple[bytes]]:
        """Send the names."""
        return answer, (msgspec.json.encode(self.asked),)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Do nothing: no query begins."""


class AnsweredError(Exception):
    """The answer, on its way back."""


def answer(content: bytes) -> None:
    """Answer a question, where it is unpickled.

    Raises:
        AnsweredError: Always: so that no query begins.
    """
    found = look(msgspec.json.decode(content, type=Asked))
    raise AnsweredError(f"{_BEGIN}{msgspec.json.encode(found).decode()}{_END}")


def look(asked: Asked) -> Looked:
    """Return what this Python has."""
    import pyspark

    return Looked(
        python=platform.python_version(),
        holdfast=__version__,
        pyspark=pyspark.__version__,
        modules=tuple(each for each in _MODULES if find_spec(each) is not None),
        secrets={each: _find_problem(each) for each in asked.secrets},
        host=platform.node(),
        root=_look_at_root(asked.root) if asked.root else None,
    )


def _look_at_root(root: str) -> RootLook:
    try:
        found = open_reader(root).list()
    except HoldfastError as error:
        return RootLook(problem=error.why)
    names = sorted((*(info.path for info in found.files), *found.directories))
    digest = hashlib.sha256("\n".join(names).encode("utf-8", "surrogateescape")).hexdigest()
    return RootLook(entries=len(names), digest=digest)


def ask(spark: SparkSession, asked: Asked) -> Looked | str:
    """Return what the server's process of the batches has, or why that is not known."""
    rows = spark.readStream.format("rate").load()
    try:
        query = rows.writeStream.foreachBatch(Question(asked)).format("noop").start()
    except spark_errors() as error:  # so the answer comes
        return read_answer(str(error))
    query.stop()
    return "The server has started a query instead of an answer"


def read_answer(text: str) -> Looked | str:
    """Return the answer in the text of an error, or what the error says instead."""
    found = _ANSWER.search(text)
    if found is not None:
        try:
            return msgspec.json.decode(found[1], type=Looked)
        except (msgspec.DecodeError, msgspec.ValidationError):
            return "The server's Holdfast answers in another form: it is of another version"
    missing = _NO_MODULE.search(text)
    if missing is not None:
        return f"The server's Python has no module {missing[1]}"
    lines = [line.strip() for line in printable(redact(text)).splitlines() if line.strip()]
    return lines[0][:200] if lines else "The server has said nothing"


def look_on_executor(content: bytes) -> list[str]:
    """Answer a question on an executor, as text."""
    found = look(msgspec.json.decode(content, type=Asked))
    return [msgspec.json.encode(found).decode()]


def _find_problem(secret: str) -> str:
    from holdfast.sinks.secrets import reveal

    try:
        reveal(secret)
    except HoldfastError as error:
        return error.why
    return ""
