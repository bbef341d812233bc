"""From Kafka into a Delta table on s3a and back; started by `lab.check` as a driver."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

_TABLE = "s3a://lake/check/table"


def main(bootstrap: str, topic: str) -> None:
    """Copy the topic and compare."""
    spark = SparkSession.builder.getOrCreate()
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        messages.writeStream.format("delta")
        .option("checkpointLocation", "s3a://lake/check/checkpoint")
        .trigger(availableNow=True)
        .start(_TABLE)
    )
    query.awaitTermination()
    rows = spark.read.format("delta").load(_TABLE).select("value").collect()
    values = [bytes(row.value) for row in rows]
    if values != [b"round trip"]:
        sys.exit(f"expected [b'round trip'] from the table, got {values!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
