"""A stream from Kafka into PostgreSQL as a user of Holdfast writes it; the driver of `kills`.

python guarded_to_postgres.py BOOTSTRAP TOPIC ROOT ROWS_PER_BATCH SHAPE    (DSN in the environment)
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf

DSN = "env:READINGS_DSN"


def appended(rows: DataFrame) -> dict[str, Any]:
    """Every row, as it is."""
    return {"df": rows, "into": hf.Postgres(DSN, table="readings")}


def attached(rows: DataFrame) -> dict[str, Any]:
    """Every row, as it is, by two tasks at once."""
    return {"df": rows, "into": hf.Postgres(DSN, table="readings", parallel=2)}


def merged(rows: DataFrame) -> dict[str, Any]:
    """Every row, by its key."""
    sink = hf.Postgres(DSN, table="readings", keys=["id"], sequence_by="offset")
    return {"df": rows, "into": sink}


def counts(rows: DataFrame) -> dict[str, Any]:
    """How often each key has come so far: state, and rows that replace older ones."""
    counted = rows.groupBy(F.expr("id * id % 97").alias("key")).count()
    sink = hf.Postgres(DSN, table="readings", keys=["key"], sequence_by="count")
    return {"df": counted, "into": sink, "outputMode": "update"}


def windows(rows: DataFrame) -> dict[str, Any]:
    """How many rows fell into each 100 seconds, once they are over: state, and rows that stay."""
    timed = rows.select(F.timestamp_seconds("id").alias("time")).withWatermark("time", "0 seconds")
    counted = timed.groupBy(F.window("time", "100 seconds")).count()
    started = counted.select(F.col("window.start").cast("long").alias("start"), "count")
    return {"df": started, "into": hf.Postgres(DSN, table="readings")}


SHAPES = {shape.__name__: shape for shape in (appended, attached, merged, counts, windows)}


def read(spark: SparkSession, bootstrap: str, topic: str, *, rows_per_batch: str) -> DataFrame:
    """Return the topic as rows."""
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows_per_batch)
        .load()
    )
    return messages.select(F.col("value").cast("string").cast("long").alias("id"), "offset")


def begin(rows: DataFrame, *, shape: str, root: str) -> Any:
    """Start the stream over all there is."""
    return hf.start(
        **SHAPES[shape](rows), stream="readings", root=root, trigger={"availableNow": True}
    )


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    bootstrap, topic, root, rows_per_batch, shape = arguments
    spark = SparkSession.builder.getOrCreate()
    rows = read(spark, bootstrap, topic, rows_per_batch=rows_per_batch)
    begin(rows, shape=shape, root=root).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
