"""The three streams in plain PySpark: no Holdfast.

It does what a careful engineer can do with Spark and Delta alone: stable checkpoint locations, one
per stream; `txnAppId` and `txnVersion` where one batch writes two tables; upserts that may repeat.
`campaigns/restart_damage` shows what less care costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import psycopg
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from examples.sensors import messages

READING = "reading_id string, sensor_id string, event_time string, value string, broken string"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensors:
    """Where the pipeline reads, writes and remembers."""

    bootstrap: str
    topic: str
    lake: str
    """Base location of the tables: `s3a://lake/sensors`."""
    checkpoints: str
    """Base location of the checkpoints, one per stream below it."""
    dsn: str
    """PostgreSQL, with the table `latest`."""
    messages_per_batch: int

    def table(self, name: str) -> str:
        """Return the location of a table: raw, typed, quarantine or gold."""
        return f"{self.lake}/{name}"


def raw_ingest(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start `sensor-raw-ingest`: every message as it came, with where it came from."""
    return (
        read_topic(spark, sensors)
        .writeStream.format("delta")
        .queryName("sensor-raw-ingest")
        .option("checkpointLocation", f"{sensors.checkpoints}/sensor-raw-ingest")
        .trigger(availableNow=True)
        .start(sensors.table("raw"))
    )


def read_topic(spark: SparkSession, sensors: Sensors) -> DataFrame:
    """Return the messages of the topic, each with where it came from."""
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", sensors.bootstrap)
        .option("subscribe", sensors.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", sensors.messages_per_batch)
        .load()
    )
    return source.select("topic", "partition", "offset", "timestamp", "key", "value")


def deserialize(spark: SparkSession, sensors: Sensors) -> StreamingQuery:
    """Start `sensor-deserialize`: readings into typed, everything else into quarantine."""
    parsed = parse(spark.readStream.format("delta").load(sensors.table("raw")))

    def write(batch: DataFrame, number: int) -> None:
        readings = batch.where("reason is null").drop("reason", "message")
        rejected = batch.where("reason is not null").select(
            F.col("message").alias("value"), "reason", "partition", "offset"
        )
        for name, rows in (("typed", readings), ("quarantine", rejected)):
            (
                rows.write.format("delta")
                .mode("append")
                .option("txnAppId", f"sensor-deserialize/{name}")
                .option("txnVersion", number)
                .save(sensors.table(name))
            )

    return _start(parsed, write, name="sensor-deserialize", sensors=sensors)


def parse(raw: DataFrame) -> DataFrame:
    """Add the fields of a reading and the reason why a message is not one, if it is not."""
    text = F.col("value").cast("string")
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "broken"}
    fields = raw.withColumn("message", F.col("value")).withColumn(
        "fields", F.from_json(F.when(F.is_valid_utf8(text), text), READING, options)
    )
    event_time = F.try_to_timestamp(F.col("fields.event_time"))
    value = F.col("fields.value").try_cast("double")
    reasons: list[tuple[Column, str]] = [
        (~F.is_valid_utf8(text), messages.NOT_UTF8),
        (F.col("fields.broken").isNotNull(), messages.NOT_JSON),
        (F.col("fields.reading_id").isNull(), messages.NO_READING_ID),
        (F.col("fields.sensor_id").isNull(), messages.NO_SENSOR_ID),
        (event_time.isNull(), messages.BAD_EVENT_TIME),
        (value.isNull(), messages.BAD_VALUE),
    ]
    return fields.select(
        F.col("fields.reading_id").alias("reading_id"),
        F.col("fields.sensor_id").alias("sensor_id"),
        event_time.alias("event_time"),
        value.alias("value"),
        "partition",
        "offset",
        "message",
        F.coalesce(*(F.when(holds, F.lit(reason)) for holds, reason in reasons)).alias("reason"),
    )


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
