"""`sensor-raw-ingest` with the sinks that tutorials advise; the driver of the damage table.

    python as_the_web_advises.py SINK '{"bootstrap": …, "topic": …, "checkpoint": …, "target": …}'

Each sink is as it is usually shown, not a straw man: what is wrong with it shows only at a restart.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from holdfast.points import reached

Config = dict[str, Any]


def jdbc_append(rows: DataFrame, config: Config) -> DataStreamWriter:
    """Append each batch, with the batch id as a column "for idempotency"."""

    def write(batch: DataFrame, number: int) -> None:
        reached("sink-called")
        numbered = batch.withColumn("batch_id", F.lit(number))
        numbered.write.jdbc(config["target"], "readings", mode="append")

    return rows.writeStream.foreachBatch(write)


def jdbc_delete_insert(rows: DataFrame, config: Config) -> DataStreamWriter:
    """Delete what the table holds of this batch id, then append the batch."""

    def write(batch: DataFrame, number: int) -> None:
        with psycopg.connect(config["dsn"]) as connection:
            connection.execute("delete from readings where batch_id = %s", (number,))
        numbered = batch.withColumn("batch_id", F.lit(number))
        numbered.write.jdbc(config["target"], "readings", mode="append")

    return rows.writeStream.foreachBatch(write)


def delta_native(rows: DataFrame, config: Config) -> DataStreamWriter:
    """Write with Delta's own streaming sink."""
    return rows.writeStream.format("delta").option("path", config["target"])


def delta_fixed_txn(rows: DataFrame, config: Config) -> DataStreamWriter:
    """Append in foreachBatch with a fixed `txnAppId` and the batch id as `txnVersion`."""

    def write(batch: DataFrame, number: int) -> None:
        (
            batch.write.format("delta")
            .mode("append")
            .option("txnAppId", "sensor-raw-ingest")
            .option("txnVersion", number)
            .save(config["target"])
        )

    return rows.writeStream.foreachBatch(write)


def files_native(rows: DataFrame, config: Config) -> DataStreamWriter:
    """Write Parquet files with Spark's own file sink."""
    return rows.writeStream.format("parquet").option("path", config["target"])


SINKS: dict[str, Callable[[DataFrame, Config], DataStreamWriter]] = {
    sink.__name__.replace("_", "-"): sink
    for sink in (jdbc_append, jdbc_delete_insert, delta_native, delta_fixed_txn, files_native)
}


def read_rows(config: Config) -> DataFrame:
    """Read the topic: where each message was, and whose it is."""
    spark = SparkSession.builder.getOrCreate()
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", config["bootstrap"])
        .option("subscribe", config["topic"])
        .option("startingOffsets", config["starting"])
        .option("maxOffsetsPerTrigger", config["per_batch"])
        .load()
    )
    return messages.select("partition", "offset", F.col("key").cast("string").alias("sensor_id"))


def main(sink: str, config: Config) -> None:
    """Run the stream over all there is in the topic."""
    writer = SINKS[sink](read_rows(config), config).option(
        "checkpointLocation", config["checkpoint"]
    )
    writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
