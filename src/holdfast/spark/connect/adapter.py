"""The port to Spark for a session of Spark Connect: `holdfast.spark.port.Port`, as a module.

What only the JVM of a classic session answers is refused by its name, or said as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NoReturn

from holdfast.sources.kafka.probe import KafkaClient
from holdfast.spark.connect.arrow import SentJob
from holdfast.spark.connect.batch_plan import (
    find_doubts,
    source_nodes,
    state_shape,
    static_sides,
)
from holdfast.spark.connect.describe import (
    describe_query,
    find_reads,
    find_refusal,
    find_state,
)
from holdfast.spark.connect.refusals import TESTED, refuse
from holdfast.spark.connect.running import RunningQuery, run_task
from holdfast.spark.connect.session import is_connect, read_start_error
from holdfast.spark.connect.settings import SessionSettings, default_file_system
from holdfast.spark.plans import StateShape, Times
from holdfast.spark_versions import SparkVersion, version_text
from holdfast.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "arrow_job",
    "catalog_location",
    "check_version",
    "default_file_system",
    "describe_application",
    "describe_log_store",
    "describe_query",
    "describe_run",
    "estimated_bytes",
    "find_doubts",
    "find_kafka_clients",
    "find_reads",
    "find_refusal",
    "find_state",
    "hadoop_mover",
    "hadoop_reader",
    "hadoop_settings",
    "hadoop_writer",
    "iceberg_tables",
    "is_connect",
    "is_repeatable",
    "listen_to_queries",
    "on_time",
    "read_start_error",
    "run_task",
    "running_query",
    "runs_functions_elsewhere",
    "source_nodes",
    "state_shape",
    "static_sides",
]

arrow_job = SentJob
hadoop_settings = SessionSettings
running_query = RunningQuery
runs_functions_elsewhere = True
_UNKNOWN_BYTES = (1 << 63) - 1
_NO_PLAN = "the server does not tell the plan that it would be computed from"
_NO_FILES = "its file system is reached through the JVM of the session"


def check_version(version: SparkVersion) -> None:
    """Refuse a version of Spark with which nothing was run over Connect.

    Raises:
        UnsupportedSparkError: It is one.
    """
    if version[:2] not in TESTED:
        told = ", ".join(".".join(map(str, each)) for each in TESTED)
        refuse(f"Spark {version_text(version)}", f"guarded streams run on {told}")


def find_kafka_clients(df: DataFrame) -> Mapping[int, KafkaClient]:
    """Return none: settings of Kafka can hold passwords, and stay where the query was written."""
    del df
    return {}


def is_repeatable(df: DataFrame) -> bool:
    """Return False: it cannot be proven without the plan's expressions."""
    del df
    return False


def estimated_bytes(df: DataFrame) -> int:
    """Return that it is unknown."""
    del df
    return _UNKNOWN_BYTES


def on_time(df: DataFrame, shape: StateShape, times: Times) -> NoReturn:
    """Refuse a query with state, whose shape is not told."""
    del df, shape, times
    refuse("proving a stream with state", _NO_PLAN)


def describe_application(spark: SparkSession) -> Iterable[bytes]:
    """Refuse to record queries."""
    del spark
    refuse("recording queries", "their listener needs the JVM of the session")


def listen_to_queries(spark: SparkSession, take: Callable[[bytes], None]) -> Callable[[], None]:
    """Refuse the same."""
    del spark, take
    refuse("recording queries", "their listener needs the JVM of the session")


def describe_run(spark: SparkSession, query_id: str, run_id: str) -> bytes | None:
    """Refuse the same."""
    del spark, query_id, run_id
    refuse("recording queries", "their listener needs the JVM of the session")


def catalog_location(spark: SparkSession, name: str) -> None:
    """Return None: the server takes a job to tell it."""
    del spark, name


def describe_log_store(location: Location, spark: SparkSession) -> NoReturn:
    """Refuse a Delta table whose store needs a LogStore: what the server writes with is unknown."""
    del spark
    refuse(f"a Delta table on {location.scheme}://", "the LogStore of the server is not known")


def hadoop_reader(location: Location, spark: SparkSession) -> NoReturn:
    """Refuse what only the session's own file system reaches."""
    del spark
    refuse(f"a place on {location.scheme}://", _NO_FILES)


def hadoop_writer(location: Location, spark: SparkSession) -> NoReturn:
    """Refuse the same."""
    del spark
    refuse(f"a place on {location.scheme}://", _NO_FILES)


def hadoop_mover(location: Location, spark: SparkSession) -> NoReturn:
    """Refuse the same."""
    del spark
    refuse(f"a place on {location.scheme}://", _NO_FILES)


def iceberg_tables(spark: SparkSession) -> NoReturn:
    """Refuse Iceberg, whose classes are in the JVM of the session."""
    del spark
    refuse("hf.Iceberg", "its tables are reached through the JVM of the session")
