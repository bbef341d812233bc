"""From a message to a reading: what both forms of the pipeline do with a row.

Every decision here is made from the message alone. Spark's watermark drops rows too, but which ones
depends on how the input was cut into batches: after a reset it would drop others. So a reading that
is too late, or ahead of the clock, is sorted out here by the time at which its message arrived. The
watermark is longer than that, has only state to clean up, and drops nothing.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from examples.sensors import messages
from examples.sensors.settings import Sensors

MESSAGE = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary"
)
READING = (
    "reading_id string, sensor_id string, product string, event_time string, value string,"
    " broken string"
)
WATERMARK = "4 hours"
"""Three for late readings, one because partitions are not read at the same speed."""
_LATEST = f"INTERVAL {int(messages.LATEST.total_seconds())} SECONDS"
_CLOCKS_DIFFER = "INTERVAL 5 MINUTES"


def read_messages(spark: SparkSession, sensors: Sensors) -> DataFrame:
    """Return the messages of the topic, or of the files in its place, with where they came from."""
    columns = ("topic", "partition", "offset", "timestamp", "key", "value")
    if sensors.files:
        reader = spark.readStream.schema(MESSAGE).option("maxFilesPerTrigger", 1)
        return reader.json(sensors.files).select(*columns)
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", sensors.bootstrap)
        .option("subscribe", sensors.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", sensors.messages_per_batch)
    )
    return reader.load().select(*columns)


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
        (event_time < F.col("timestamp") - F.expr(_LATEST), messages.TOO_LATE),
        (event_time > F.col("timestamp") + F.expr(_CLOCKS_DIFFER), messages.AHEAD),
    ]
    return fields.select(
        F.col("fields.reading_id").alias("reading_id"),
        F.col("fields.sensor_id").alias("sensor_id"),
        event_time.alias("event_time"),
        value.alias("value"),
        F.col("fields.product").alias("product"),
        "partition",
        "offset",
        "timestamp",
        "message",
        F.coalesce(*(F.when(holds, F.lit(reason)) for holds, reason in reasons)).alias("reason"),
    )


def first_of_each(parsed: DataFrame) -> DataFrame:
    """Return every reading once: a message that is delivered again carries none.

    Where it came from is not kept: which of two equal messages comes first is decided by chance.
    """
    readings = parsed.where("reason is null").withWatermark("event_time", WATERMARK)
    columns = ("reading_id", "sensor_id", "event_time", "value", "product")
    return readings.select(*columns).dropDuplicatesWithinWatermark(["reading_id"])


def rejected(parsed: DataFrame) -> DataFrame:
    """Return the messages that are no reading, each as it came, with the reason."""
    found = parsed.where("reason is not null")
    return found.select(F.col("message").alias("value"), "reason", "partition", "offset")


def usage(typed: DataFrame) -> DataFrame:
    """Return how much each product was used in each hour: readings, and the sum of their values.

    The sum is a decimal: a sum of doubles depends on the order in which they are added.
    """
    return (
        typed.withWatermark("event_time", WATERMARK)
        .groupBy(F.window("event_time", "1 hour"), "product")
        .agg(
            F.count(F.lit(1)).alias("readings"),
            F.sum(F.col("value").cast("decimal(18,3)")).alias("total"),
        )
        .select("product", F.col("window.start").alias("window_start"), "readings", "total")
    )
