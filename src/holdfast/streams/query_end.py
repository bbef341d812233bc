"""A query as its driver sees it: whether it runs, how it is stopped, and how it ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.spark.errors import condition_of, spark_errors
from holdfast.spark.port import is_certainly_gone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.sinks.sink import SinkWriter


class StoppedError(HoldfastError):
    """The query was being stopped before its batch was committed."""

    code = "STOPPED"

    def __init__(self, stream: str, rows: int) -> None:
        super().__init__(
            what=f"A batch of {stream} with {rows:,} rows was not committed.",
            why="The query is being stopped, or another driver has taken over.",
            how="Nothing is lost: the next start runs the batch again.",
        )


class AlreadyRunningError(HoldfastError):
    """A query of the stream runs in this process already; it keeps running."""

    code = "ALREADY_RUNNING"

    def __init__(self, stream: str, query_id: str = "") -> None:
        self.query_id = query_id
        running = f" as query {query_id}" if query_id else ""
        super().__init__(
            what=f"{stream} was not started a second time; nothing was written.",
            why=f"This process already runs {stream}{running}, and that query keeps running.",
            how="Stop it with query.stop() before you start it again. Without the variable: "
            f'[q.stop() for q in spark.streams.active if q.name == "{stream}"]',
        )


def has_ended(query: StreamingQuery, seconds: float) -> bool:
    """Wait for the end of a query; return whether it has come."""
    try:
        return bool(query.awaitTermination(seconds))  # type: ignore[arg-type] # takes floats
    except spark_errors():  # the query's own, or that of a call that did not get through
        still_runs = is_active(query)
        if still_runs:
            time.sleep(1)
        return not still_runs


def stop_named(spark: SparkSession, stream: str) -> None:
    """Stop the query of a stream, if Spark has one."""
    try:
        running = [query for query in spark.streams.active if query.name == stream]
    except spark_errors():
        return
    for query in running:
        stop_query(query)


def is_active(query: StreamingQuery) -> bool:
    """Return whether a query runs, or may; one of a JVM that is gone does not.

    A query that cannot be asked may run: its lease must not be released.
    """
    try:
        return bool(query.isActive)
    except spark_errors() as error:
        return not is_certainly_gone(query, error)


def stop_query(query: StreamingQuery) -> None:
    """Stop a query; one that is slow to stop cannot commit any more."""
    try:
        query.stop()
    except spark_errors() as error:
        emit(Warned(f"the query is slow to stop: {type(error).__name__}"))


def error_of(query: StreamingQuery) -> str:
    """Return the class of the error that ended a query; empty when none did."""
    try:
        error = query.exception()
    except spark_errors() as gone:  # the JVM is
        return type(gone).__name__
    return "" if error is None else condition_of(error) or type(error).__name__


def close_sink(sink: SinkWriter) -> None:
    """Close a sink; whatever it raises, the lease must be released."""
    try:
        sink.close()
    except Exception as error:  # noqa: BLE001 - a user's sink can raise anything
        emit(Warned(f"{sink.display_name} could not be closed: {type(error).__name__}"))
