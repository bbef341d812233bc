"""Compares the pipeline's tables with the exact answer, row by row."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, TimestampType

from examples.sensors import answers
from examples.sensors.answers import Row
from examples.sensors.messages import Message
from examples.sensors.settings import Sensors
from holdfast.proof.multiset import Difference, compare

_READING = ("reading_id", "sensor_id", "event_time", "value")
_USAGE = ("product", "window_start", "readings", "total")
_WHERE_FROM = ("partition", "offset")
_DELTA = {
    "raw": ("topic", *_WHERE_FROM, "timestamp", "key", "value"),
    "typed": (*_READING, "product"),
    "quarantine": ("value", "reason", *_WHERE_FROM),
    "gold": _READING,
    "usage": _USAGE,
}
_POSTGRES = {
    "postgres": "select reading_id, sensor_id, event_time, value from latest",
    "postgres usage": "select product, window_start, readings, total from product_usage",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def judge(
    spark: SparkSession,
    sensors: Sensors,
    sent: list[Message],
    *,
    tables: Collection[str] | None = None,
) -> dict[str, Difference]:
    """Return how each table differs from what the messages sent so far must have become.

    Args:
        spark: The session that reads the Delta tables.
        sensors: Where they are.
        sent: All messages that were sent so far.
        tables: Those to compare; by default all that the guarded pipeline writes.
    """
    found = rows_found(spark, sensors, tables=tables)
    expected = rows_expected(sensors, sent)
    return {table: compare(expected[table], rows) for table, rows in found.items()}


def rows_expected(sensors: Sensors, sent: list[Message]) -> dict[str, Iterator[Row]]:
    """Return what the messages sent so far must have become in each table."""
    expected = {
        "raw": ((sensors.topic, *row) for row in answers.raw_rows(sent)),
        "typed": answers.typed_rows(sent),
        "quarantine": answers.quarantine_rows(sent),
        "gold": answers.latest_rows(sent),
        "usage": answers.usage_rows(sent),
    }
    if not sensors.postgres:
        return expected
    return {
        **expected,
        "postgres": answers.latest_rows(sent),
        "postgres usage": answers.usage_rows(sent),
    }


def rows_found(
    spark: SparkSession, sensors: Sensors, *, tables: Collection[str] | None = None
) -> dict[str, Iterator[Row]]:
    """Return what is in each table."""
    all_tables = [*_DELTA, *(_POSTGRES if sensors.postgres else ())]
    return {
        table: delta_rows(spark, sensors.table(table), _DELTA[table])
        if table in _DELTA
        else serving_rows(sensors.dsn, _POSTGRES[table])
        for table in all_tables
        if tables is None or table in tables
    }


def delta_rows(spark: SparkSession, location: str, columns: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of a Delta table."""
    yield from frame_rows(spark.read.format("delta").load(location).select(*columns))


def frame_rows(table: DataFrame) -> Iterator[Row]:
    """Yield rows with times in UTC, whatever the time zone of this process."""
    kinds = [field.dataType for field in table.schema]
    exact = [
        F.unix_micros(field.name) if isinstance(field.dataType, TimestampType) else field.name
        for field in table.schema
    ]
    for row in table.select(*exact).collect():
        yield tuple(_exact(value, kind) for value, kind in zip(row, kinds, strict=True))


def _exact(value: object, kind: object) -> object:
    if isinstance(kind, TimestampType) and isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    if isinstance(kind, BinaryType) and isinstance(value, bytearray):
        return bytes(value)
    return value


def serving_rows(dsn: str, query: str) -> Iterator[Row]:
    """Yield the rows that PostgreSQL serves."""
    import psycopg  # noqa: PLC0415 - an extra: only where there is a PostgreSQL

    with psycopg.connect(dsn) as connection:
        for row in connection.execute(query.encode()):
            yield tuple(
                each.astimezone(UTC) if isinstance(each, datetime) else each for each in row
            )
