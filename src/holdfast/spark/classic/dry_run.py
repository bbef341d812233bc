"""A program that is run up to its starts: nothing is started, and what would write is refused.

Everything that Spark SQL writes is a command, and Spark analyses every plan before it runs it. So a
rule of the analyser sees each one first: `df.write`, `saveAsTable`, JDBC, SQL, and Delta's `merge`
alike. A command that is not known to write nothing is refused. Actions of an RDD have no such plan:
those that write, or call a function for each row, are refused by their names.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Protocol

from holdfast.spark.classic.jvm import Java
from holdfast.spark.classic.plan import each, kind_of

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
_HARMLESS = frozenset(
    (
        *("AddArchivesCommand", "AddFilesCommand", "AddJarsCommand", "CacheTable"),
        *("CacheTableAsSelect", "CacheTableCommand", "ClearCacheCommand", "CreateTempViewUsing"),
        *("CreateVariable", "DropTempViewCommand", "DropVariable", "RefreshFunctionCommand"),
        *("RefreshTable", "RefreshTableCommand", "ResetCommand", "SetCatalogAndNamespace"),
        *("SetCatalogCommand", "SetCommand", "SetNamespaceCommand", "SetVariable"),
        *("UncacheTable", "UncacheTableCommand"),
    )
)
"""Commands that write nothing outside of the session."""
_READING = ("Describe", "Explain", "List", "Show")
"""How the names of commands begin that only tell something."""
_STARTING = ("WriteToMicroBatchDataSource", "WriteToStream", "WriteToStreamStatement")
_TABLE = "tableName"
_CONNECT = ("spark.remote", "spark.api.mode")


class Recorder(Protocol):
    """Takes what a program asks for that is run up to its starts."""

    def started(self, writer: DataStreamWriter, table: str | None) -> object:
        """Take a query that would have been started; return what stands for it."""

    def refuse(self, what: str) -> Exception:
        """Take something that would have been written; return what the program gets."""


def record_starts(recorder: Recorder, settings: Mapping[str, str]) -> None:
    """Have every start of this process recorded and every write refused, from now on.

    Args:
        recorder: Takes them.
        settings: Of every session, whatever the program itself says.
    """
    _force_settings(settings)
    _refuse_commands(recorder)
    _refuse_rdds(recorder)
    _replace_starts(recorder)


def _force_settings(settings: Mapping[str, str]) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    for name in ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE_ENABLED"):
        os.environ.pop(name, None)
    create, build = SparkContext.__init__, SparkSession.Builder.getOrCreate
    signature = inspect.signature(create)

    @wraps(create)
    def create_locally(*given: object, **named: object) -> None:
        bound = signature.bind(*given, **named)
        conf = SparkConf()
        asked = bound.arguments.get("conf")
        pairs = asked.getAll() if isinstance(asked, SparkConf) else ()
        for name, value in (*pairs, *settings.items()):
            conf.set(name, value)
        bound.arguments |= {"conf": conf, "master": settings["spark.master"]}
        create(*bound.args, **bound.kwargs)

    @wraps(build)
    def build_classic(builder: SparkSession.Builder) -> SparkSession:
        own = {name: value for name, value in builder._options.items() if name not in _CONNECT}
        builder._options = {**own, **settings}
        return build(builder)

    _replace(SparkContext, "__init__", create_locally)
    elsewhere = SparkContext.setCheckpointDir  # it creates the directory
    scratch = settings["spark.checkpoint.dir"]
    _replace(SparkContext, "setCheckpointDir", lambda context, _: elsewhere(context, scratch))
    _replace(SparkSession.Builder, "getOrCreate", build_classic)


def _replace(kind: type, name: str, function: Callable[..., object]) -> None:
    setattr(kind, name, function)


class _Function:
    """A function of Python that Scala calls."""

    def __init__(self, call: Callable[[Java], object]) -> None:
        self._call = call

    def apply(self, given: Java) -> object:
        """Call it."""
        return self._call(given)

    class Java:
        """What it is for the JVM."""

        implements = ("scala.Function1",)


def _refuse_commands(recorder: Recorder) -> None:
    """Have the analyser of every session refuse commands that write."""
    from pyspark.java_gateway import ensure_callback_server_started
    from pyspark.sql import SparkSession

    create = SparkSession.__init__
    ruled: list[Java] = []

    def judge(plan: Java) -> None:
        what = next(_find_writes(plan), None)
        if what is not None:
            raise recorder.refuse(what)

    rule = _Function(judge)
    rules = _Function(lambda _: rule)

    @wraps(create)
    def create_with_rule(session: SparkSession, *given: object, **named: object) -> None:
        create(session, *given, **named)  # type: ignore[arg-type]
        extensions = session._jsparkSession.extensions()  # sessions of one context share them
        if not any(extensions.equals(known) for known in ruled):
            ruled.append(extensions)
            start_callbacks: Callable[[object], None] = ensure_callback_server_started
            start_callbacks(session.sparkContext._gateway)
            extensions.injectCheckRule(rules)

    _replace(SparkSession, "__init__", create_with_rule)


def _find_writes(plan: Java) -> Iterator[str]:
    """Yield the commands of a plan that may write, by their names; what was analysed is known."""
    kind = kind_of(plan)
    if kind in _STARTING or (_is_command(plan) and not _is_harmless(plan, kind)):
        yield kind
    for child in each(plan.children()):
        if not child.analyzed():
            yield from _find_writes(child)


def _is_command(plan: Java) -> bool:
    loader = plan.getClass().getClassLoader()
    return bool(loader.loadClass(_COMMAND).isInstance(plan))


def _is_harmless(plan: Java, kind: str) -> bool:
    if kind == "CreateViewCommand":
        return str(plan.viewType().toString()) in ("LocalTempView", "GlobalTempView")
    if kind in ("CreateFunctionCommand", "CreateSQLFunctionCommand"):
        return bool(plan.isTemp())
    return kind in _HARMLESS or kind.startswith(_READING)


def _refuse_rdds(recorder: Recorder) -> None:
    from pyspark import RDD

    def refusing(name: str) -> Callable[..., None]:
        def refuse(*_: object, **__: object) -> None:
            raise recorder.refuse(f"RDD.{name}")

        return refuse

    for name in dir(RDD):
        if name.startswith("saveAs") or name in ("foreach", "foreachPartition"):
            _replace(RDD, name, refusing(name))


def _replace_starts(recorder: Recorder) -> None:
    from pyspark.sql.streaming.query import StreamingQueryManager
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    def recording(start: Callable[..., object], place_name: str) -> Callable[..., object]:
        signature = inspect.signature(start)

        @wraps(start)
        def record(*given: object, **named: object) -> object:
            told = signature.bind(*given, **named).arguments
            writer: DataStreamWriter = told.pop("self")
            place, options = told.pop(place_name, None), told.pop("options", {})
            for way, value in told.items():  # format, outputMode, partitionBy, queryName
                if value is not None:
                    getattr(writer, way)(value)
            writer.options(**options)
            if place is None or place_name == _TABLE:
                return recorder.started(writer, place)
            return recorder.started(writer.option(place_name, place), None)

        return record

    for name, place_name in (("start", "path"), ("toTable", _TABLE)):
        recorded = recording(getattr(DataStreamWriter, name), place_name)
        _replace(DataStreamWriter, name, recorded)
    _replace(StreamingQueryManager, "awaitAnyTermination", lambda *_, **__: True)
