"""The port to Spark: what Holdfast asks of it beyond PySpark's documented API.

Streams, sinks and plans see this module and the values of `plans` only. Each kind of session has an
adapter, a module with these functions: `classic` today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from holdfast.errors import HoldfastError
from holdfast.evidence.state_columns import PlannedState
from holdfast.record.contracts import Contract, SinkContract
from holdfast.sources.kafka.probe import KafkaClient
from holdfast.spark.arrow import ArrowJob
from holdfast.spark.plans import (
    NotDecided,
    OnTime,
    SourceNode,
    StateShape,
    StaticSide,
    Times,
    WriterOptions,
)
from holdfast.spark_versions import SUPPORTED
from holdfast.storage.location import Location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from holdfast.spark.classic.dry_run import Recorder

_CONNECT = "pyspark.sql.connect"


class RunningQuery(Protocol):
    """The query of one start, which may not have begun yet."""

    def end_offsets(self) -> set[str] | None:
        """Return the end offsets of the batch that it is in, canonical; None if it is stopped."""

    def is_active(self) -> bool:
        """Return whether it runs and nobody has begun to stop it."""


class Settings(Protocol):
    """The settings that Spark opens a store with, by their names in Hadoop."""

    def get(self, name: str, /) -> str | None:
        """Return a setting; None without one."""


class Port(Protocol):
    """What one kind of session answers."""

    def describe_query(
        self,
        df: DataFrame,
        *,
        sinks: tuple[str, ...],
        output_mode: str,
        sink_places: tuple[SinkContract, ...] = (),
    ) -> tuple[Contract, tuple[PlannedState | None, ...]]:
        """Return the contract of a query, and what each operator would bind to its state."""

    def find_refusal(self, df: DataFrame, *, output_mode: str) -> str | None:
        """Say why Spark refuses a query on any checkpoint; None when it does not."""

    def source_nodes(self, df: DataFrame) -> tuple[SourceNode, ...]:
        """Return the sources of a streaming DataFrame in the order of its offset log."""

    def find_reads(self, df: DataFrame) -> tuple[str, ...]:
        """Return the locations that a streaming DataFrame reads; those of topics have none."""

    def find_kafka_clients(self, df: DataFrame) -> Mapping[int, KafkaClient]:
        """Return a client for every Kafka source of a query, by its place in the query."""

    def find_state(self, df: DataFrame) -> tuple[str, ...]:
        """Name what keeps state in a streaming query; empty without state."""

    def find_doubts(self, df: DataFrame) -> tuple[str, ...]:
        """Say why a batch job can give other rows than the stream gave."""

    def static_sides(self, df: DataFrame) -> tuple[StaticSide, ...]:
        """Return the data of a streaming query that is not a stream."""

    def is_repeatable(self, df: DataFrame) -> bool:
        """Return whether a query is proven to give the same rows for the same offsets."""

    def state_shape(self, df: DataFrame, *, output_mode: str) -> StateShape | NotDecided:
        """Return what a query with state gives, or why that cannot be told from its rows."""

    def on_time(self, df: DataFrame, shape: StateShape, times: Times) -> OnTime | NotDecided:
        """Return a batch DataFrame as the stream would have given it."""

    def estimated_bytes(self, df: DataFrame) -> int:
        """Return how large Spark takes a DataFrame to be; close to 2 ** 63 if it is unknown."""

    def arrow_job(self, df: DataFrame) -> ArrowJob:
        """Start a job that serves the rows of a DataFrame to this process."""

    def run_task(self, spark: SparkSession, task: Callable[[], Iterable[str]]) -> list[str]:
        """Return what a function returns on an executor."""

    def running_query(self, spark: SparkSession, query_id: str) -> RunningQuery:
        """Return a query of this driver, running or about to."""

    def describe_application(self, spark: SparkSession) -> Iterable[bytes]:
        """Return the lines with which the event log of an application begins, without secrets."""

    def listen_to_queries(
        self, spark: SparkSession, take: Callable[[bytes], None]
    ) -> Callable[[], None]:
        """Hand on what Spark tells of its queries, as lines of its event log; return what stops."""

    def describe_run(self, spark: SparkSession, query_id: str, run_id: str) -> bytes | None:
        """Return a line with the checkpoint and the output mode of a run; None if it has ended."""

    def default_file_system(self, spark: SparkSession) -> str:
        """Return the URL of what a path without a scheme is on."""

    def hadoop_settings(self, spark: SparkSession) -> Settings:
        """Return the settings of a session for its stores."""

    def hadoop_reader(self, location: Location, spark: SparkSession) -> Reader:
        """Return what reads below a location through the session's own file system."""

    def hadoop_writer(self, location: Location, spark: SparkSession) -> Writer:
        """Return what writes below a location through the session's own file system."""


class UnsupportedSparkError(HoldfastError):
    """This Spark session cannot run a guarded stream."""

    code = "UNSUPPORTED_SPARK"

    def __init__(self, why: str, *, how: str = "") -> None:
        super().__init__(
            what="The stream was not started; nothing was written.",
            why=why,
            how=how or f"Use a classic session of PySpark {', '.join(SUPPORTED)}.",
        )


def find_port(spark: SparkSession | None) -> Port | None:
    """Return the port of a session; None if its kind has none."""
    from holdfast.spark.classic import adapter

    return adapter if adapter.is_classic(spark) else None


def port_of(spark: SparkSession) -> Port:
    """Return the port of a session.

    Raises:
        UnsupportedSparkError: It is a session of Spark Connect.
    """
    port = find_port(spark)
    if port is None:
        raise _connect_refused()
    return port


def read_writer(writer: DataStreamWriter) -> WriterOptions:
    """Read what a chain of `df.writeStream` was told.

    Raises:
        UnsupportedSparkError: It is of Spark Connect.
        AttributeError: It is no such chain.
    """
    from holdfast.spark.classic import stream_writer

    refuse_connect(writer)
    return stream_writer.read_writer(writer)


def record_starts(recorder: Recorder, settings: Mapping[str, str]) -> None:
    """Have every start of this process recorded and every write of Spark refused, from now on.

    Args:
        recorder: Takes them.
        settings: Of every session, whatever the program itself says.
    """
    from holdfast.spark.classic import dry_run

    dry_run.record_starts(recorder, settings)


def is_certainly_gone(query: StreamingQuery, error: Exception) -> bool:
    """Return whether a query cannot run any more, after a call to it has raised an error."""
    from holdfast.spark.classic import jvm

    return jvm.is_certainly_gone(query, error)


def refuse_connect(given: object) -> None:
    """Refuse a DataFrame, a session or a writer of Spark Connect.

    Its DataFrame has every attribute, as a column: its class alone tells what it is.

    Raises:
        UnsupportedSparkError: It is one.
    """
    if type(given).__module__.startswith(_CONNECT):
        raise _connect_refused()


def _connect_refused() -> UnsupportedSparkError:
    return UnsupportedSparkError(
        "This is Spark Connect, which does not tell what a batch covers before it is written.",
        how="Create the session with SparkSession.builder.master(…) instead of .remote(…), on "
        f"PySpark {', '.join(SUPPORTED)}. On Databricks, use compute with dedicated access mode.",
    )
