"""The sensors pipeline as five plain programs: `start()`, Delta's own sink, and `foreachBatch`.

Nothing in them knows of Holdfast, and nothing in them changes after a plan.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from campaigns.mission.broken import read_broken
from examples.sensors import plain
from examples.sensors.parsing import first_of_each, parse, read_messages, rejected, usage
from examples.sensors.settings import Sensors

RAW, TYPED, QUARANTINE = "sensor-raw-ingest", "sensor-deserialize", "sensor-quarantine"
GOLD, USAGE = "sensor-merge-gold", "product-usage"
STREAMS = (RAW, TYPED, QUARANTINE, GOLD, USAGE)
"""In the order of the data. Their checkpoints have these names."""
TABLES = ("raw", "typed", "quarantine", "gold", "postgres", "postgres usage")
"""As `judge` names them."""
SINKS = {
    TYPED: ("typed",),
    QUARANTINE: ("quarantine",),
    GOLD: ("gold", "latest"),
    USAGE: ("product_usage",),
}
"""What each stream but the first writes."""
SERVING_TABLES = f"""
{plain.SERVING_TABLE};
create table if not exists product_usage (
    product text not null,
    window_start timestamptz not null,
    readings bigint not null,
    total numeric(28, 3) not null,
    primary key (product, window_start)
)
"""
_UPSERT = """
insert into product_usage (product, window_start, readings, total)
select * from unnest(%s::text[], %s::timestamptz[], %s::bigint[], %s::numeric[])
on conflict (product, window_start) do update
set readings = excluded.readings, total = excluded.total
"""
ONCE: dict[str, bool] = {"availableNow": True}
Every = dict[str, bool] | dict[str, str]


def run(spark: SparkSession, sensors: Sensors, *, bug: bool) -> None:
    """Run the programs one after the other, until each has read everything."""
    start_raw(spark, sensors, bug=bug).awaitTermination()
    run_below(spark, sensors)


def run_below(spark: SparkSession, sensors: Sensors) -> None:
    """Run the programs after the first."""
    for start in (start_typed, start_quarantine, start_gold, start_usage):
        start(spark, sensors).awaitTermination()


def start_raw(spark: SparkSession, sensors: Sensors, *, bug: bool) -> StreamingQuery:
    """Start the first stage; with the bug, every tenth message loses its first byte."""
    rows = (read_broken if bug else read_messages)(spark, sensors)
    return _write(rows, RAW, sensors).format("delta").start(sensors.table("raw"))


def start_typed(
    spark: SparkSession, sensors: Sensors, *, every: Every | None = None
) -> StreamingQuery:
    """Start the stage that keeps state: every reading once."""
    rows = first_of_each(parse(_read(spark, sensors, "raw")))
    writer = _write(rows, TYPED, sensors, every=every)
    return writer.format("delta").start(sensors.table("typed"))


def start_quarantine(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start the stage that keeps what is no reading."""
    rows = rejected(parse(_read(spark, sensors, "raw")))
    writer = _write(rows, QUARANTINE, sensors)
    return writer.format("delta").start(sensors.table("quarantine"))


def start_gold(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start the stage that merges the latest readings into Delta and PostgreSQL."""
    return plain.merge_gold(spark, sensors)


def start_usage(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start the stage that counts by hour, with state, into PostgreSQL."""

    def write(batch: DataFrame, _: int) -> None:
        exact = F.col("total").cast("string").alias("total")
        columns = batch.select("product", "window_start", "readings", exact).toArrow()
        with psycopg.connect(sensors.dsn) as connection:
            connection.execute(_UPSERT, [column.to_pylist() for column in columns.columns])

    rows = usage(_read(spark, sensors, "typed"))
    return _write(rows, USAGE, sensors).outputMode("update").foreachBatch(write).start()


def _read(spark: SparkSession, sensors: Sensors, table: str) -> DataFrame:
    return spark.readStream.format("delta").load(sensors.table(table))


def _write(
    rows: DataFrame, name: str, sensors: Sensors, *, every: Every | None = None
) -> DataStreamWriter:
    writer = rows.writeStream.queryName(name)
    writer = writer.option("checkpointLocation", f"{sensors.checkpoints}/{name}")
    trigger: Callable[..., DataStreamWriter] = writer.trigger
    return trigger(**(every or ONCE))
