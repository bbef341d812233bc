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


def judge(spark: SparkSession, sensors: Sensors, sent: list[Message]) -> dict[str, Difference]:
    """Return how each table differs from what the messages sent so far must have become."""
    raw = ((sensors.topic, *row) for row in messages.raw_rows(sent))
    answers: dict[str, tuple[Iterator[tuple[object, ...]], tuple[str, ...]]] = {
        "raw": (raw, ("topic", *_WHERE_FROM, "timestamp", "key", "value")),
        "typed": (messages.typed_rows(sent), (*_READING, *_WHERE_FROM)),
        "quarantine": (messages.quarantine_rows(sent), ("value", "reason", *_WHERE_FROM)),
        "gold": (messages.latest_rows(sent), _READING),
    }
    found = {
        table: compare(expected, delta_rows(spark, sensors.table(table), columns))
        for table, (expected, columns) in answers.items()
    }
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
