"""Compares the pipeline's five tables with the exact answer, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

import psycopg
from pyspark.sql import SparkSession

from examples.sensors import messages
from examples.sensors.messages import Message
from examples.sensors.plain import Sensors
from lab.multiset import Difference, compare

_READING = ("reading_id", "sensor_id", "event_time", "value")
_ANSWERS = {
    "raw": (messages.raw_rows, ("partition", "offset", "timestamp", "key", "value")),
    "typed": (messages.typed_rows, (*_READING, "partition", "offset")),
    "quarantine": (messages.quarantine_rows, ("value", "reason", "partition", "offset")),
    "gold": (messages.latest_rows, _READING),
}


def judge(spark: SparkSession, sensors: Sensors, sent: list[Message]) -> dict[str, Difference]:
    """Return how each table differs from what the messages sent so far must have become."""
    found = {}
    for table, (expected, columns) in _ANSWERS.items():
        rows = delta_rows(spark, sensors.table(table), columns)
        found[table] = compare(expected(sent), rows)
    found["postgres"] = compare(messages.latest_rows(sent), serving_rows(sensors.dsn))
    return found


def delta_rows(
    spark: SparkSession, location: str, columns: tuple[str, ...]
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of a Delta table."""
    table = spark.read.format("delta").load(location).select(*columns).toArrow()
    for row in table.to_pylist():
        yield tuple(row[column] for column in columns)


def serving_rows(dsn: str) -> Iterator[tuple[object, ...]]:
    """Yield the rows that PostgreSQL serves."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select reading_id, sensor_id, event_time, value from latest")
        for reading_id, sensor_id, event_time, value in rows:
            yield reading_id, sensor_id, event_time.astimezone(UTC), value
