"""One application with a plain stream for every source and sink, none of them guarded.

    python plain_matrix.py HOME WAYS KAFKA

`WAYS` is JSON: for each stream its source, its sink, its operator and the way in which it ends. The
streams run one after the other; those that are to be killed, or to end with the program, run on.
Everything that Spark says of them is printed as JSON. `holdfast facts --code` reads this file.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from campaigns.streams.plain_ends import (
    EXITED,
    FAILED,
    FINISHED,
    KILLED,
    SECONDS,
    SOURCES,
    STOPPED,
    batches_of,
    run,
    say,
    take,
)

NONE, DEDUPLICATED, COUNTED = "none", "dedupe", "stateStoreSave"
PROVIDERS = {
    NONE: "HDFSBackedStateStoreProvider",
    DEDUPLICATED: "RocksDBStateStoreProvider",
    COUNTED: "HDFSBackedStateStoreProvider",
}
KAFKA = sys.argv[-1]
"""The address of the broker: the last argument."""
_PACKAGE = "org.apache.spark.sql.execution.streaming.state"


def delta_append(frame: DataFrame, home: Path, **trigger: Any) -> StreamingQuery:
    """Start it into a table."""
    writer = frame.writeStream.format("delta").outputMode("append").trigger(**trigger)
    writer = writer.option("path", str(home / "out"))
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def delta_complete(frame: DataFrame, home: Path, **trigger: Any) -> StreamingQuery:
    """Start it into a table that each batch replaces."""
    writer = frame.writeStream.format("delta").outputMode("complete").trigger(**trigger)
    writer = writer.option("path", str(home / "out"))
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def files_append(frame: DataFrame, home: Path, **trigger: Any) -> StreamingQuery:
    """Start it into a directory."""
    writer = frame.writeStream.format("parquet").outputMode("append").trigger(**trigger)
    writer = writer.option("path", str(home / "out"))
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def kafka_append(frame: DataFrame, home: Path, **trigger: Any) -> StreamingQuery:
    """Start it into a topic."""
    writer = frame.writeStream.format("kafka").outputMode("append").trigger(**trigger)
    writer = writer.option("topic", "out").option("kafka.bootstrap.servers", KAFKA)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def kafka_update(frame: DataFrame, home: Path, **trigger: Any) -> StreamingQuery:
    """Start it into a topic, with a row for each key that has changed."""
    writer = frame.writeStream.format("kafka").outputMode("update").trigger(**trigger)
    writer = writer.option("topic", "out").option("kafka.bootstrap.servers", KAFKA)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def function_append(frame: DataFrame, home: Path, **trigger: Any) -> StreamingQuery:
    """Start it into a function."""
    writer = frame.writeStream.foreachBatch(take).outputMode("append").trigger(**trigger)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def function_update(frame: DataFrame, home: Path, **trigger: Any) -> StreamingQuery:
    """Start it into a function, with a row for each key that has changed."""
    writer = frame.writeStream.foreachBatch(take).outputMode("update").trigger(**trigger)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


STARTED: dict[str, Callable[..., StreamingQuery]] = {
    each.__name__: each
    for each in (
        delta_append,
        delta_complete,
        files_append,
        kafka_append,
        kafka_update,
        function_append,
        function_update,
    )
}


def start(spark: SparkSession, home: Path, given: dict[str, str]) -> StreamingQuery:
    """Start one stream."""
    frame = SOURCES[given["source"]](spark, home, KAFKA)
    broken = F.col("value") == F.lit(given["fails_at"] if given["way"] == FAILED else "none")
    value = F.when(broken, F.raise_error(F.lit("told to fail"))).otherwise(F.col("value"))
    rows = frame.select(value.alias("value"))
    if given["operator"] == DEDUPLICATED:
        rows = rows.dropDuplicates(["value"])
    elif given["operator"] == COUNTED:
        rows = rows.groupBy("value").count()
    provider = f"{_PACKAGE}.{PROVIDERS[given['operator']]}"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    # Twelve of them run on beside each other: they must leave the processors to the next one.
    trigger: dict[str, Any] = {"processingTime": "2 seconds"}
    if given["way"] == FINISHED:
        trigger = {"availableNow": True}
    return STARTED[given["starter"]](rows, home, **trigger)


def main() -> None:
    """Run every stream, and end in the way that was asked for."""
    home, ways = Path(sys.argv[1]), json.loads(sys.argv[2])
    spark = SparkSession.builder.getOrCreate()
    for given in ways:
        query = start(spark, home / given["name"], given)
        error = run(query, given["way"])
        ids = {"query_id": str(query.id), "run_id": str(query.runId), "spark": spark.version}
        say("stream", name=given["name"], error=error, batches=batches_of(query), **ids)
        if given["way"] == STOPPED:
            query.stop()
    say("ran")
    if ways[0]["way"] == KILLED:
        time.sleep(SECONDS)
    if ways[0]["way"] != EXITED:
        spark.stop()


if __name__ == "__main__":
    main()
