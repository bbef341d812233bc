"""Compares the pipeline's five tables with the exact answer, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

import psycopg
from pyspark.sql import SparkSession

from examples.sensors import messages
from examples.sensors.messages import Message
from examples.sensors.plain import Sensors
from holdfast.proof.multiset import Difference, compare

_READING = ("reading_id", "sensor_id", "event_time", "value")
_WHERE_FROM = ("partition", "offset")
_COLUMNS = {
    "raw": ("topic", *_WHERE_FROM, "timestamp", "key", "value"),
    "typed": (*_READING, *_WHERE_FROM),
    "quarantine": ("value", "reason", *_WHERE_FROM),
    "gold": _READING,
}
Row = tuple[object, ...]


def judge(spark: SparkSession, sensors: Sensors, sent: list[Message]) -> dict[str, Difference]:
    """Return how each table differs from what the messages sent so far must have become."""
    found = rows_found(spark, sensors)
    return {
        table: compare(expected, found[table])
        for table, expected in rows_expected(sensors, sent).items()
    }


def rows_expected(sensors: Sensors, sent: list[Message]) -> dict[str, Iterator[Row]]:
    """Return what the messages sent so far must have become in each table."""
    return {
        "raw": ((sensors.topic, *row) for row in messages.raw_rows(sent)),
        "typed": messages.typed_rows(sent),
        "quarantine": messages.quarantine_rows(sent),
        "gold": messages.latest_rows(sent),
        "postgres": messages.latest_rows(sent),
    }


def rows_found(spark: SparkSession, sensors: Sensors) -> dict[str, Iterator[Row]]:
    """Return what is in each table."""
    found = {
        table: delta_rows(spark, sensors.table(table), columns)
        for table, columns in _COLUMNS.items()
    }
    return {**found, "postgres": serving_rows(sensors.dsn)}


def delta_rows(spark: SparkSession, location: str, columns: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of a Delta table."""
    table = spark.read.format("delta").load(location).select(*columns).toArrow()
    for row in table.to_pylist():
        yield tuple(row[column] for column in columns)


def serving_rows(dsn: str) -> Iterator[Row]:
    """Yield the rows that PostgreSQL serves."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select reading_id, sensor_id, event_time, value from latest")
        for reading_id, sensor_id, event_time, value in rows:
            yield reading_id, sensor_id, event_time.astimezone(UTC), value
