"""A plain stream, without Holdfast, that reads everything that is there and ends.

    python plain_into.py HOME SOURCE SINK BATCHES [KAFKA TOPIC]

The source is `kafka` or `delta`, a table in HOME/in. The sink is `delta`, a table that keeps the
partition and the offset of each record, `bare`, one that keeps only the value, or `files`. Each
batch reads as much as BATCHES sendings.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

PER_BATCH = 20
FILES = "files"


def read(spark: SparkSession, home: Path, batches: int, *, kafka: str, topic: str) -> DataFrame:
    """Return the stream: of a topic, or without one of a table."""
    if not topic:
        reader = spark.readStream.format("delta").option("maxFilesPerTrigger", batches)
        return reader.load(f"{home}/in")
    options = {
        "kafka.bootstrap.servers": kafka,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(batches * PER_BATCH),
    }
    read_ = spark.readStream.format("kafka").options(**options).load()
    return read_.select("partition", "offset", F.col("value").cast("string").cast("int").alias("n"))


def run(frame: DataFrame, home: Path, sink: str) -> None:
    """Write everything that is there."""
    rows = frame if sink == "delta" else frame.select("n")
    writer: Any = rows.writeStream.format("parquet" if sink == FILES else "delta")
    writer = writer.option("checkpointLocation", f"{home}/checkpoint/orders")
    writer = writer.queryName("orders").trigger(availableNow=True)
    query = writer.start(f"{home}/out")
    try:
        query.awaitTermination()
    finally:
        query.stop()


def main() -> None:
    """Run it once."""
    given, source, sink, batches, *rest = sys.argv[1:]
    kafka, topic = rest if source == "kafka" else ("", "")
    spark = SparkSession.builder.getOrCreate()
    stream = read(spark, Path(given), int(batches), kafka=kafka, topic=topic)
    run(stream, Path(given), sink)
    spark.stop()


if __name__ == "__main__":
    main()
