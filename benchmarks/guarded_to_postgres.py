"""A stream from Kafka into PostgreSQL as a user of Holdfast writes it; the driver of `guard_kills`.

python guarded_to_postgres.py BOOTSTRAP TOPIC ROOT ROWS_PER_BATCH KEYED    (DSN in the environment)
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from holdfast.sinks.postgres.sink import Postgres
from holdfast.streams.start import start


def main(arguments: list[str]) -> None:
    """Run the stream over all there is."""
    bootstrap, topic, root, rows_per_batch, keyed = arguments
    spark = SparkSession.builder.getOrCreate()
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows_per_batch)
        .load()
    )
    sink = Postgres("env:READINGS_DSN", table="readings")
    if keyed == "keyed":
        sink = Postgres("env:READINGS_DSN", table="readings", keys=["id"], sequence_by="offset")
    query = start(
        messages.select(F.col("value").cast("string").cast("long").alias("id"), "offset"),
        stream="readings",
        into=sink,
        root=root,
        trigger={"availableNow": True},
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
