"""`hf.Pipeline`: several streams declared together, each started in a guard of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.errors import ConfigError, HoldfastError
from holdfast.record.layout import check_stream_name
from holdfast.redact import redact
from holdfast.sinks.kinds import resolve_writer
from holdfast.sinks.sink import SinkSpec, SinkWriter, as_sinks
from holdfast.spark.errors import spark_errors
from holdfast.streams.checking import check_streams
from holdfast.streams.declared import Build, Declared, build_one
from holdfast.streams.future_tables import FutureTables
from holdfast.streams.graph import Node, draw, find_edges, find_reads, normal
from holdfast.streams.resolve import check_trigger
from holdfast.streams.start import start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.rules.compatibility import StreamCheck

_LOG = logging.getLogger("holdfast")


class PipelineStartError(HoldfastError):
    """Some streams of a pipeline were not started; the others run."""

    code = "PIPELINE_START"

    def __init__(
        self, pipeline: str, *, queries: dict[str, Any], errors: dict[str, Exception]
    ) -> None:
        self.queries = queries
        """Those that run, by their stream's name."""
        self.errors = errors
        """What kept each of the others from it."""
        told = "; ".join(f"{name}: {redact(str(error))}" for name, error in errors.items())
        super().__init__(
            what=f"{len(errors)} of {len(errors) + len(queries)} streams of {pipeline} "
            "were not started; the others run.",
            why=told,
            how="Fix the errors above, then start only those streams: "
            "pipeline.start(spark, only=[…]).",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    declared: Declared
    df: Any
    """None when it reads a table that is not there yet: built again at its own start."""
    node: Node

    def start(self, spark: SparkSession, options: dict[str, Any]) -> StreamingQuery:
        """Start the stream."""
        df = self.declared.build(spark) if self.df is None else self.df
        given = {**self.declared.options, **options}
        return start(df, stream=self.declared.name, into=self.declared.sinks, **given)


class Pipeline:
    """Streams that belong together."""

    def __init__(self, name: str, *, root: str | None = None) -> None:
        """Declare a pipeline without streams yet.

        Args:
            name: Its name.
            root: Where checkpoints and records are; by default the session's.
        """
        check_stream_name(name)
        self.name = name
        self._root = root
        self._streams: dict[str, Declared] = {}

    @property
    def streams(self) -> Mapping[str, Declared]:
        """Its streams by name, in the order of their declaration."""
        return self._streams

    def stream(
        self,
        name: str,
        *,
        into: SinkSpec | Sequence[SinkSpec],
        trigger: dict[str, Any] | None = None,
        outputMode: str = "append",  # noqa: N803 - Spark's own word
        checkpoint: str | None = None,
    ) -> Callable[[Build], Build]:
        """Declare a stream by the function that builds its DataFrame from a session.

        Args:
            name: The stream's stable name.
            into: Its sink, or several.
            trigger: As for `start`.
            outputMode: As for `start`.
            checkpoint: As for `start`.

        Raises:
            ConfigError: There is a stream of this name already, or an option is not one.
        """
        check_stream_name(name)
        if name in self._streams:
            raise ConfigError(f"The pipeline {self.name} has a stream {name} already.")
        sinks = as_sinks(into)
        check_trigger(trigger)
        given = {"outputMode": outputMode, "trigger": trigger, "checkpoint": checkpoint}
        options = {option: value for option, value in given.items() if value is not None}

        def declare(build: Build) -> Build:
            self._streams[name] = Declared(name=name, build=build, sinks=sinks, options=options)
            return build

        return declare

    def start(
        self,
        spark: SparkSession,
        *,
        only: Iterable[str] | None = None,
        trigger: dict[str, Any] | None = None,
        takeover: bool = False,
        accept: str | None = None,
    ) -> dict[str, StreamingQuery]:
        """Start the streams; return Spark's `StreamingQuery` of each, by its name.

        Args:
            spark: The session.
            only: Names of the streams to start; by default all.
            trigger: For every stream, instead of its own.
            takeover: As for `start`.
            accept: As for `start`; a stream that did not print the nonce ignores it.

        Raises:
            ConfigError: Streams read each other in a circle, or append to one table.
            PipelineStartError: Some could not be started; it has those that run.
        """
        built = self._build(spark)
        find_edges(_nodes(built))
        wanted = self._named(only)
        given: dict[str, Any] = {"takeover": takeover, "accept": accept, "root": self._root}
        given |= {} if trigger is None else {"trigger": trigger}
        queries: dict[str, StreamingQuery] = {}
        errors: dict[str, Exception] = {}
        for name in wanted:
            try:
                queries[name] = built[name].start(spark, given)
            except Exception as error:  # noqa: BLE001 - the others run, and must not be forgotten
                _LOG.error("holdfast: %s was not started: %s", name, redact(str(error)))
                errors[name] = error
        if errors:
            raise PipelineStartError(self.name, queries=queries, errors=errors)
        return queries

    def check(
        self, spark: SparkSession, *, only: Iterable[str] | None = None, root: str | None = None
    ) -> tuple[StreamCheck, ...]:
        """Say whether the code can continue on its checkpoints; nothing is started or written.

        Args:
            spark: The session.
            only: Names of the streams to check; by default all.
            root: Where checkpoints and records are, instead of the pipeline's own root.

        Raises:
            ConfigError: A stream is not one of the pipeline's, or there is no root.
        """
        wanted = self._named(only)
        return check_streams(self._streams, spark, only=wanted, root=root or self._root)

    def show(self, spark: SparkSession) -> str:
        """Return the streams as lines, each below those it reads from."""
        nodes = _nodes(self._build(spark))
        return draw(nodes, find_edges(nodes))

    def describe(self, spark: SparkSession) -> dict[str, Any]:
        """Return the streams as JSON has them: what each reads and writes, and who follows it."""
        nodes = _nodes(self._build(spark))
        edges = find_edges(nodes)
        streams = [
            {"name": name, "reads": node.reads, "writes": node.writes, "followed_by": edges[name]}
            for name, node in nodes.items()
        ]
        return {"streams": streams}

    def _named(self, only: Iterable[str] | None) -> list[str]:
        """Return the names of streams, or all.

        Raises:
            ConfigError: There is no such stream.
        """
        wanted = list(self._streams) if only is None else list(only)
        if unknown := [name for name in wanted if name not in self._streams]:
            raise ConfigError(f"The pipeline {self.name} has no stream {', '.join(unknown)}.")
        return wanted

    def _build(self, spark: SparkSession) -> dict[str, _Built]:
        """Call the functions in the order of their declaration; nothing is created.

        A later one may read what an earlier one will write: a table that is not there yet is read
        as an empty stream. A stream that cannot be built so is built at its own start.
        """
        built = {}
        future = FutureTables(spark)
        with ExitStack() as opened:
            for name, declared in self._streams.items():
                try:
                    df, reads = build_one(spark, declared, future)
                except spark_errors() as error:
                    if not future:
                        raise
                    built[name] = _Built(declared=declared, df=None, node=_unbuilt(declared, error))
                    continue
                mode = declared.options["outputMode"]
                writers = []
                for sink in declared.sinks:
                    writers.append(resolve_writer(sink, df, stream=name, output_mode=mode))
                    opened.callback(writers[-1].close)
                    future.add(writers[-1].place, df.schema)
                node = _node(declared, writers, reads=(*find_reads(df), *reads))
                built[name] = _Built(declared=declared, df=None if reads else df, node=node)
        return built


def _unbuilt(declared: Declared, error: Exception) -> Node:
    """Return a stream that may read, in another way, a table that is not there yet."""
    places = tuple(normal(sink.place) for sink in declared.sinks)
    return Node(
        name=declared.name,
        reads=(),
        writes=places,
        tables=places,
        appends=tuple(normal(sink.place) for sink in declared.sinks if sink.is_appending),
        unknown=redact(str(error)).partition("\n")[0],
    )


def _nodes(built: dict[str, _Built]) -> dict[str, Node]:
    return {name: each.node for name, each in built.items()}


def _node(declared: Declared, writers: Sequence[SinkWriter], *, reads: tuple[str, ...]) -> Node:
    both = list(zip(declared.sinks, writers, strict=True))
    return Node(
        name=declared.name,
        reads=reads,
        writes=tuple(normal(writer.place) for writer in writers),
        tables=tuple(writer.identity for writer in writers),
        appends=tuple(writer.identity for sink, writer in both if sink.is_appending),
    )
