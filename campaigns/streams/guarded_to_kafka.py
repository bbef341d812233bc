"""A stream from Kafka into Kafka as a user of Holdfast writes it; the driver of `kafka_kills`.

    python guarded_to_kafka.py BOOTSTRAP TOPIC ROOT ROWS_PER_BATCH SHAPE

The environment names the servers to write to: KAFKA_SERVERS.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.streams.guarded_to_postgres import read

STREAM = "readings"


def output_of(topic: str) -> str:
    """Return the topic that the stream of a topic writes to."""
    return f"{topic}_out"


def appended(rows: DataFrame) -> dict[str, Any]:
    """Every row, as it is."""
    text = F.col("id").cast("string")
    found = rows.select(text.alias("key"), text.alias("value"), _partition(F.col("id")))
    return {"df": found}


def counts(rows: DataFrame) -> dict[str, Any]:
    """How often each key has come so far: state, and a record for each change."""
    counted = rows.groupBy(F.expr("id * id % 97").alias("k")).count()
    key, count = F.col("k").cast("string"), F.col("count").cast("string")
    found = counted.select(key.alias("key"), count.alias("value"), _partition(F.col("k")))
    return {"df": found, "outputMode": "update"}


def _partition(number: Any) -> Any:
    return (number % 2).cast("int").alias("partition")


SHAPES = {shape.__name__: shape for shape in (appended, counts)}


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    bootstrap, topic, root, rows_per_batch, shape = arguments
    spark = SparkSession.builder.getOrCreate()
    rows = read(spark, bootstrap, topic, rows_per_batch=rows_per_batch)
    query = hf.start(
        **SHAPES[shape](rows),
        stream=STREAM,
        into=hf.Kafka("env:KAFKA_SERVERS", topic=output_of(topic)),
        root=root,
        trigger={"availableNow": True},
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
