"""`hf.Pipeline`: several streams declared together, each started in a guard of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from holdfast.errors import ConfigError, HoldfastError
from holdfast.record.layout import check_stream_name
from holdfast.redact import redact
from holdfast.sinks.sink import Sink, as_sinks
from holdfast.streams.graph import Node, draw, find_edges, find_reads, normal
from holdfast.streams.start import start

_LOG = logging.getLogger("holdfast")
Build = Callable[[Any], Any]
"""From a Spark session to a streaming DataFrame."""


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
            how="Mend what is named, and start those again: pipeline.start(spark, only=[…]).",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One stream of a pipeline, as it was declared."""

    name: str
    build: Build
    sinks: tuple[Sink, ...]
    options: dict[str, Any]
    """As for `start`: trigger, outputMode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    declared: Declared
    df: Any
    node: Node


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
        self, name: str, *, into: Sink | Sequence[Sink], **options: Any
    ) -> Callable[[Build], Build]:
        """Declare a stream by the function that builds its DataFrame from a session.

        Args:
            name: The stream's stable name.
            into: Its sink, or several.
            options: As for `start`: `trigger`, `outputMode`.

        Raises:
            ConfigError: There is a stream of this name already.
        """
        check_stream_name(name)
        if name in self._streams:
            raise ConfigError(f"The pipeline {self.name} has a stream {name} already.")
        sinks = as_sinks(into)

        def declare(build: Build) -> Build:
            self._streams[name] = Declared(name=name, build=build, sinks=sinks, options=options)
            return build

        return declare

    def start(
        self, spark: Any, *, only: Iterable[str] | None = None, **options: Any
    ) -> dict[str, Any]:
        """Start the streams; return Spark's `StreamingQuery` of each, by its name.

        Args:
            spark: The session.
            only: Names of the streams to start; by default all.
            options: As for `start`, for every stream: `takeover`, `trigger`.

        Raises:
            ConfigError: Streams read each other in a circle, or append to one table.
            PipelineStartError: Some could not be started; it has those that run.
        """
        from pyspark.errors import PySparkException

        built = self._build(spark)
        find_edges(_nodes(built))
        wanted = list(built) if only is None else list(only)
        if unknown := [name for name in wanted if name not in built]:
            raise ConfigError(f"The pipeline {self.name} has no stream {', '.join(unknown)}.")
        queries: dict[str, Any] = {}
        errors: dict[str, Exception] = {}
        for name in wanted:
            each = built[name]
            given = {"root": self._root, **each.declared.options, **options}
            try:
                queries[name] = start(each.df, stream=name, into=each.declared.sinks, **given)
            except (HoldfastError, PySparkException) as error:
                _LOG.error("holdfast: %s was not started: %s", name, redact(str(error)))
                errors[name] = error
        if errors:
            raise PipelineStartError(self.name, queries=queries, errors=errors)
        return queries

    def show(self, spark: Any) -> str:
        """Return the streams as lines, each below those it reads from."""
        nodes = _nodes(self._build(spark))
        return draw(nodes, find_edges(nodes))

    def describe(self, spark: Any) -> dict[str, Any]:
        """Return the streams as JSON has them: what each reads and writes, and who follows it."""
        nodes = _nodes(self._build(spark))
        edges = find_edges(nodes)
        streams = [
            {"name": name, "reads": node.reads, "writes": node.writes, "followed_by": edges[name]}
            for name, node in nodes.items()
        ]
        return {"streams": streams}

    def _build(self, spark: Any) -> dict[str, _Built]:
        """Call the functions in the order of their declaration, and make the tables of each.

        A later one may read what an earlier one writes. What sinks hold open for that is closed.
        """
        built = {}
        with ExitStack() as opened:
            for name, declared in self._streams.items():
                df = declared.build(spark)
                mode = declared.options.get("outputMode", "append")
                sinks = []
                for sink in declared.sinks:
                    sinks.append(sink.prepare(df, stream=name, output_mode=mode))
                    opened.callback(sinks[-1].close)
                built[name] = _Built(declared=declared, df=df, node=_node(name, df, sinks))
        return built


def _nodes(built: dict[str, _Built]) -> dict[str, Node]:
    return {name: each.node for name, each in built.items()}


def _node(name: str, df: Any, sinks: Sequence[Sink]) -> Node:
    return Node(
        name=name,
        reads=find_reads(df),
        writes=tuple(normal(sink.place) for sink in sinks),
        tables=tuple(sink.identity for sink in sinks),
        appends=tuple(sink.identity for sink in sinks if sink.is_appending),
    )
