"""The port to Spark for a classic session: `holdfast.spark.port.Port`, as a module."""

from __future__ import annotations

from holdfast.spark.classic.arrow import SocketJob
from holdfast.spark.classic.batch_plan import find_doubts, find_state, source_nodes, static_sides
from holdfast.spark.classic.catalog import catalog_location
from holdfast.spark.classic.describe import describe_query, find_refusal
from holdfast.spark.classic.hadoop_configuration import HadoopConfiguration, default_file_system
from holdfast.spark.classic.hadoop_files import HadoopReader
from holdfast.spark.classic.hadoop_mover import HadoopMover
from holdfast.spark.classic.hadoop_writer import HadoopWriter
from holdfast.spark.classic.iceberg_tables import ClassicTables
from holdfast.spark.classic.jvm import is_classic
from holdfast.spark.classic.kafka_client import find_kafka_clients
from holdfast.spark.classic.late_rows import on_time
from holdfast.spark.classic.log_store import describe_log_store
from holdfast.spark.classic.plan import estimated_bytes, find_reads
from holdfast.spark.classic.query_listener import (
    describe_application,
    describe_run,
    listen_to_queries,
)
from holdfast.spark.classic.repeatable import is_repeatable
from holdfast.spark.classic.running import RunningQuery, run_task
from holdfast.spark.classic.state_shape import state_shape
from holdfast.spark_versions import SparkVersion

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
    "is_classic",
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

arrow_job = SocketJob
hadoop_mover = HadoopMover
hadoop_reader = HadoopReader
hadoop_settings = HadoopConfiguration
hadoop_writer = HadoopWriter
iceberg_tables = ClassicTables
running_query = RunningQuery
runs_functions_elsewhere = False


def read_start_error(error: Exception) -> None:
    """Return None: Spark's own error says it."""
    del error


def check_version(version: SparkVersion) -> None:
    """Refuse none: what is supported is supported with classic sessions."""
    del version
