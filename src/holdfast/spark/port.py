"""The port to Spark: what Holdfast asks of it beyond PySpark's documented API.

Streams, sinks and plans see this module and the values of `plans` only. Each kind of session has an
adapter, a module with these functions: `classic` and `connect`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

from holdfast.errors import HoldfastError
from holdfast.evidence.state_columns import PlannedState
from holdfast.record.contracts import Contract, SinkContract
from holdfast.sources.kafka.probe import KafkaClient
from holdfast.spark.arrow import ArrowJob
from holdfast.spark.connect import session
from holdfast.spark.connect.refusals import refuse
from holdfast.spark.plans import (
    LogStoreSetup,
    NotDecided,
    OnTime,
    SourceNode,
    StateShape,
    StaticSide,
    Times,
    Untold,
    WriterOptions,
)
from holdfast.spark.refusal import UnsupportedSparkError
from holdfast.spark_versions import SparkVersion
from holdfast.storage.location import Location
from holdfast.storage.moving import Mover
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from holdfast.spark.classic.dry_run import Recorder
    from holdfast.spark.iceberg_step import IcebergTables


class RunningQuery(Protocol):
    """The query of one start, which may not have begun yet."""

    def end_offsets(self) -> set[str] | Untold | None:
        """Return the end offsets of the batch that it is in, canonical; None if it is stopped.

        Where no function is told them, what it tells of the batch before.
        """

    def is_active(self) -> bool:
        """Return whether it runs and nobody has begun to stop it."""


class Settings(Protocol):
    """The settings that Spark opens a store with, by their names in Hadoop."""

    def get(self, name: str, /) -> str | None:
        """Return a setting; None without one."""


class Port(Protocol):
    """What one kind of session answers."""

    @property
    def runs_functions_elsewhere(self) -> bool:
        """Whether the function of a query runs in another process, which can outlive this one."""

    def check_version(self, version: SparkVersion) -> None:
        """Refuse a supported version of Spark that sessions of this kind are not supported with.

        Raises:
            UnsupportedSparkError: It is one.
        """

    def read_start_error(self, error: Exception) -> HoldfastError | None:
        """Return what an error of a start means; None when Spark's own says it."""

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

    def catalog_location(self, spark: SparkSession, name: str) -> str | None:
        """Return where Spark's own catalog has a table; None if it cannot tell at once."""

    def describe_log_store(self, location: Location, spark: SparkSession) -> LogStoreSetup:
        """Return what Delta writes the log of a table on S3 with."""

    def hadoop_settings(self, spark: SparkSession) -> Settings:
        """Return the settings of a session for its stores."""

    def hadoop_reader(self, location: Location, spark: SparkSession) -> Reader:
        """Return what reads below a location through the session's own file system."""

    def hadoop_writer(self, location: Location, spark: SparkSession) -> Writer:
        """Return what writes below a location through the session's own file system."""

    def hadoop_mover(self, location: Location, spark: SparkSession) -> Mover:
        """Return what writes and renames below a location, through the same."""

    def iceberg_tables(self, spark: SparkSession) -> IcebergTables:
        """Return the Iceberg tables of a session, by the classes that it has of Iceberg."""


def find_port(spark: SparkSession | None) -> Port | None:
    """Return the port of a session; None if its kind has none."""
    if session.is_connect(spark):
        from holdfast.spark.connect import adapter as connect

        return connect
    from holdfast.spark.classic import adapter

    return adapter if adapter.is_classic(spark) else None


def port_of(spark: SparkSession) -> Port:
    """Return the port of a session.

    Raises:
        UnsupportedSparkError: It has none.
    """
    port = find_port(spark)
    if port is None:
        raise UnsupportedSparkError(f"This is no session of Spark: {type(spark).__name__}.")
    return port


def existing_session() -> SparkSession | None:
    """Return the classic session that this process has started; None without one."""
    from holdfast.spark.classic import iceberg_tables

    return iceberg_tables.existing_session()


def read_writer(writer: DataStreamWriter) -> WriterOptions:
    """Read what a chain of `df.writeStream` was told.

    Raises:
        AttributeError: It is no such chain.
    """
    if session.is_connect(writer):
        from holdfast.spark.connect import stream_writer as connect

        return connect.read_writer(writer)
    from holdfast.spark.classic import stream_writer

    return stream_writer.read_writer(writer)


def is_stream_writer(given: object) -> bool:
    """Return whether something is a `DataStreamWriter`, of any kind of session."""
    if session.is_connect(given):  # its DataFrame has every attribute, as a column
        return type(given).__name__ == "DataStreamWriter"
    return hasattr(given, "foreachBatch")


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
    if session.is_connect(query):
        return session.is_certainly_gone(query, error)
    from holdfast.spark.classic import jvm

    return jvm.is_certainly_gone(query, error)


@contextmanager
def own_view(spark: SparkSession, rows: DataFrame, name: str) -> Iterator[tuple[SparkSession, str]]:
    """Give a session whose settings no program shares, and a view of rows in it.

    Args:
        spark: The session of the rows.
        rows: What is seen under the name.
        name: Of the view; where programs share the session it gets another one.

    Raises:
        UnsupportedSparkError: A session that programs share cannot be copied.
    """
    if not session.is_connect(spark):
        rows.createOrReplaceTempView(name)
        yield spark, name  # that of one query alone
        return
    unique = f"{name}_{uuid4().hex}"
    with ExitStack() as opened:
        rows.createOrReplaceTempView(unique)
        try:
            copied = opened.enter_context(session.own_session(spark))
            copied.catalog.tableExists(unique)  # views are copied when a name is first looked up
        finally:
            spark.catalog.dropTempView(unique)  # the program's session keeps nothing of ours
        yield copied, unique


def check_own_sessions(spark: SparkSession) -> None:
    """Refuse a session that programs share and that cannot be copied.

    Raises:
        UnsupportedSparkError: It is one.
    """
    if session.is_connect(spark):
        with session.own_session(spark):
            pass


def query_class(query: StreamingQuery) -> type | None:
    """Return the class with the methods of a query; None where it is `StreamingQuery` itself."""
    return type(query) if session.is_connect(query) else None


def refuse_connect(given: object, what: str) -> None:
    """Refuse what is not supported over Spark Connect.

    Args:
        given: A session, a DataFrame or a writer.
        what: What was asked for.

    Raises:
        UnsupportedSparkError: It is of Spark Connect.
    """
    if session.is_connect(given):
        refuse(what, "it needs the JVM of the session")
