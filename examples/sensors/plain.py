"""The first three stages in plain PySpark: no Holdfast.

It does what a careful engineer can do with Spark and Delta alone: stable checkpoint locations, one
per stream; `txnAppId` and `txnVersion` where one batch writes two tables; upserts that may repeat.
`campaigns/restart_damage` shows what less care costs.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from examples.sensors.parsing import WATERMARK, parse, read_messages, rejected
from examples.sensors.settings import Sensors

TABLES = ("raw", "typed", "quarantine", "gold", "postgres")
"""Those that these stages write, as `judge` names them."""
SERVING_TABLE = """
create table if not exists latest (
    sensor_id text primary key,
    reading_id text not null,
    event_time timestamptz not null,
    value double precision not null
)
"""
_UPSERT = """
insert into latest (sensor_id, reading_id, event_time, value)
select * from unnest(%s::text[], %s::text[], %s::timestamptz[], %s::float8[])
on conflict (sensor_id) do update
set reading_id = excluded.reading_id, event_time = excluded.event_time, value = excluded.value
where (excluded.event_time, excluded.reading_id) > (latest.event_time, latest.reading_id)
"""


def raw_ingest(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start `sensor-raw-ingest`: every message as it came, with where it came from."""
    return (
        read_messages(spark, sensors)
        .writeStream.format("delta")
        .queryName("sensor-raw-ingest")
        .option("checkpointLocation", f"{sensors.checkpoints}/sensor-raw-ingest")
        .trigger(availableNow=True)
        .start(sensors.table("raw"))
    )


def deserialize(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start `sensor-deserialize`: readings into typed, everything else into quarantine."""
    parsed = once_each(parse(spark.readStream.format("delta").load(sensors.table("raw"))))

    def write(batch: DataFrame, number: int) -> None:
        batch.persist()  # else state is read and written once for each of the two tables
        columns = ("reading_id", "sensor_id", "event_time", "value", "product")
        readings = batch.where("reason is null").select(*columns)
        for name, rows in (("typed", readings), ("quarantine", rejected(batch))):
            (
                rows.write.format("delta")
                .mode("append")
                .option("txnAppId", f"sensor-deserialize/{name}")
                .option("txnVersion", number)
                .save(sensors.table(name))
            )
        batch.unpersist()

    return _start(parsed, write, name="sensor-deserialize", sensors=sensors)


def once_each(parsed: DataFrame) -> DataFrame:
    """Return every reading once, and every message that is none: both in one stream."""
    is_reading = F.col("reason").isNull()
    place = F.concat_ws(":", "partition", "offset")
    keyed = parsed.withColumn("once", F.when(is_reading, F.col("reading_id")).otherwise(place))
    timed = keyed.withColumn(
        "at", F.when(is_reading, F.col("event_time")).otherwise(F.col("timestamp"))
    )
    return timed.withWatermark("at", WATERMARK).dropDuplicatesWithinWatermark(["once"])


def merge_gold(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start `sensor-merge-gold`: the latest reading of each sensor, in Delta and PostgreSQL."""
    typed = spark.readStream.format("delta").load(sensors.table("typed"))
    gold = f"delta.`{sensors.table('gold')}`"
    spark.sql(
        f"create table if not exists {gold} "
        "(reading_id string, sensor_id string, event_time timestamp, value double) using delta"
    )

    def write(batch: DataFrame, _: int) -> None:
        newest_first = Window.partitionBy("sensor_id").orderBy(
            F.col("event_time").desc(), F.col("reading_id").desc()
        )
        latest = (
            batch.withColumn("rank", F.row_number().over(newest_first))
            .where("rank = 1")
            .select("reading_id", "sensor_id", "event_time", "value")
            .persist()
        )
        latest.createOrReplaceTempView("latest")
        batch.sparkSession.sql(
            f"merge into {gold} t using latest s on t.sensor_id = s.sensor_id "
            "when matched and (s.event_time > t.event_time "
            "or s.event_time = t.event_time and s.reading_id > t.reading_id) then update set * "
            "when not matched then insert *"
        )
        columns = latest.select("sensor_id", "reading_id", "event_time", "value").toArrow()
        with psycopg.connect(sensors.dsn) as connection:
            connection.execute(_UPSERT, [column.to_pylist() for column in columns.columns])
        latest.unpersist()

    return _start(typed, write, name="sensor-merge-gold", sensors=sensors)


def _start(
    rows: DataFrame,
    write: Callable[[DataFrame, int], None],
    *,
    name: str,
    sensors: Sensors,
) -> StreamingQuery:
    return (
        rows.writeStream.foreachBatch(write)
        .queryName(name)
        .option("checkpointLocation", f"{sensors.checkpoints}/{name}")
        .trigger(availableNow=True)
        .start()
    )


STREAMS = (raw_ingest, deserialize, merge_gold)
"""The streams in the order their data flows."""


def run_once(spark: SparkSession, sensors: Sensors) -> None:
    """Bring everything that is in the topic now through all three streams."""
    for start in STREAMS:
        start(spark, sensors).awaitTermination()
