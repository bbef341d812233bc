"""`hf.Pipeline`: several streams declared together, each started in a guard of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import ConfigError, HoldfastError
from holdfast.events import emit
from holdfast.events.starts import NotStarted
from holdfast.proof.values import Proof
from holdfast.record.layout import check_stream_name
from holdfast.redact import redact
from holdfast.sinks.given import as_sinks
from holdfast.sinks.sink import SinkSpec
from holdfast.streams.backfill.positions import as_text
from holdfast.streams.building import build_streams, nodes_of
from holdfast.streams.checking import check_streams
from holdfast.streams.declared import Build, Declared
from holdfast.streams.external_table import ExternalTable
from holdfast.streams.graph import draw, find_edges
from holdfast.streams.proving import prove_streams
from holdfast.streams.resolve import check_reset, check_trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.rules.compatibility import StreamCheck


class PipelineStartError(HoldfastError):
    """Some streams of a pipeline were not started; the others run."""

    code = "PIPELINE_START"

    def __init__(
        self, pipeline: str, *, queries: dict[str, StreamingQuery], errors: dict[str, Exception]
    ) -> None:
        self.queries = queries
        """Those that run, by their stream's name."""
        self.errors = errors
        """What kept each of the others from it."""
        told = "\n".join(f"{name}: {redact(str(error))}" for name, error in errors.items())
        super().__init__(
            what=_say_how_many(pipeline, len(errors), running=len(queries)),
            why=told,
            how="Fix the errors above, then start only those streams: "
            f"pipeline.start(spark, only={list(errors)!r})",
        )

    def __str__(self) -> str:
        # Its reasons have many lines, and end with commands: nothing may follow on the same line.
        return f"{self.what}\n{self.why}\n{self.how}"


def _say_how_many(pipeline: str, failed: int, *, running: int) -> str:
    """Return how many streams did not start, and what the others do."""
    were = "was" if failed == 1 else "were"
    others = {0: "None runs.", 1: "The other one runs."}.get(running, "The others run.")
    if failed + running == 1:
        return f"The only stream of {pipeline} was not started."
    return f"{failed} of {failed + running} streams of {pipeline} {were} not started. {others}"


def _kind_of(error: Exception) -> str:
    return error.code if isinstance(error, HoldfastError) else type(error).__name__


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

    def stream(  # noqa: PLR0913 - as for `start`, each by name
        self,
        name: str,
        *,
        into: SinkSpec | Sequence[SinkSpec],
        trigger: dict[str, Any] | None = None,
        outputMode: str = "append",  # noqa: N803 - Spark's own word
        checkpoint: str | None = None,
        reset: str | None = None,
    ) -> Callable[[Build], Build]:
        """Declare a stream by the function that builds its DataFrame from a session.

        Args:
            name: The stream's stable name.
            into: Its sink, or several.
            trigger: As for `start`.
            outputMode: As for `start`.
            checkpoint: As for `start`.
            reset: As for `start`.

        Raises:
            ConfigError: There is a stream of this name already, or an option is not one.
        """
        check_stream_name(name)
        if name in self._streams:
            raise ConfigError(f"The pipeline {self.name} has a stream {name} already.")
        sinks = as_sinks(into)
        check_trigger(trigger)
        check_reset(reset)
        given = {"outputMode": outputMode, "trigger": trigger}
        given |= {"checkpoint": checkpoint, "reset": reset}
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
        built = build_streams(spark, self._streams)
        find_edges(nodes_of(built))
        wanted = self._named(only)
        given: dict[str, Any] = {"takeover": takeover, "accept": accept, "root": self._root}
        given |= {} if trigger is None else {"trigger": trigger}
        queries: dict[str, StreamingQuery] = {}
        errors: dict[str, Exception] = {}
        for name in wanted:
            try:
                queries[name] = built[name].start(spark, given)
            except Exception as error:  # noqa: BLE001 - the others run, and must not be forgotten
                # The whole reason is in what is raised, once.
                emit(NotStarted(stream=name, why=_kind_of(error)))
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

    def declared(self, stream: str) -> Declared:
        """Return one stream as it was declared.

        Raises:
            ConfigError: The pipeline has no such stream.
        """
        self._named([stream])
        return self._streams[stream]

    @property
    def root(self) -> str | None:
        """Of its streams; None: that of the session."""
        return self._root

    def prove(
        self,
        spark: SparkSession,
        *,
        only: Iterable[str] | None = None,
        root: str | None = None,
        own: Mapping[str, ExternalTable] | None = None,
        began: str | int | Mapping[str, object] | None = None,
    ) -> Proof:
        """Prove from the data that the sinks hold exactly what they must; nothing is written.

        Args:
            spark: The session, which runs the jobs.
            only: Names of the streams to prove; by default all.
            root: Where checkpoints and records are, instead of the pipeline's own root.
            own: By a stream's name, a table that its own code writes.
            began: Where the streams began to read, for a checkpoint that no longer says it:
                `earliest`, or Kafka offsets.

        Raises:
            ConfigError: A stream is not one of the pipeline's, or there is no root.
        """
        self._named(own or {})
        wanted = [self._streams[name] for name in self._named(only)]
        found = prove_streams(
            wanted,
            spark,
            root=root or self._root,
            own=own or {},
            began=None if began is None else as_text(began),
        )
        return Proof(pipeline=self.name, tables=found)

    def show(self, spark: SparkSession) -> str:
        """Return the streams as lines, each below those it reads from."""
        nodes = nodes_of(build_streams(spark, self._streams))
        return draw(nodes, find_edges(nodes))

    def describe(self, spark: SparkSession) -> dict[str, Any]:
        """Return the streams as JSON has them: what each reads and writes, and who follows it."""
        nodes = nodes_of(build_streams(spark, self._streams))
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
