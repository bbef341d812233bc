"""One application with a plain stream for every source and sink, none of them guarded.

    python plain_matrix.py HOME WAYS LAST [KAFKA]

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

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

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
_PACKAGE = "org.apache.spark.sql.execution.streaming.state"


def delta_append(writer: DataStreamWriter, home: Path) -> StreamingQuery:
    """Start it into a table."""
    place = writer.format("delta").outputMode("append").option("path", str(home / "out"))
    return place.option("checkpointLocation", str(home / "checkpoint")).start()


def delta_complete(writer: DataStreamWriter, home: Path) -> StreamingQuery:
    """Start it into a table that each batch replaces."""
    place = writer.format("delta").outputMode("complete").option("path", str(home / "out"))
    return place.option("checkpointLocation", str(home / "checkpoint")).start()


def files_append(writer: DataStreamWriter, home: Path) -> StreamingQuery:
    """Start it into a directory."""
    place = writer.format("parquet").outputMode("append").option("path", str(home / "out"))
    return place.option("checkpointLocation", str(home / "checkpoint")).start()


def kafka_append(writer: DataStreamWriter, home: Path) -> StreamingQuery:
    """Start it into a topic."""
    place = writer.format("kafka").outputMode("append").option("topic", "out")
    return place.option("checkpointLocation", str(home / "checkpoint")).start()


def kafka_update(writer: DataStreamWriter, home: Path) -> StreamingQuery:
    """Start it into a topic, with a row for each key that has changed."""
    place = writer.format("kafka").outputMode("update").option("topic", "out")
    return place.option("checkpointLocation", str(home / "checkpoint")).start()


def function_append(writer: DataStreamWriter, home: Path) -> StreamingQuery:
    """Start it into a function."""
    place = writer.foreachBatch(take).outputMode("append")
    return place.option("checkpointLocation", str(home / "checkpoint")).start()


def function_update(writer: DataStreamWriter, home: Path) -> StreamingQuery:
    """Start it into a function, with a row for each key that has changed."""
    place = writer.foreachBatch(take).outputMode("update")
    return place.option("checkpointLocation", str(home / "checkpoint")).start()


STARTED: dict[str, Callable[[DataStreamWriter, Path], StreamingQuery]] = {
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


def start(spark: SparkSession, home: Path, given: dict[str, str], *, kafka: str) -> StreamingQuery:
    """Start one stream."""
    frame = SOURCES[given["source"]](spark, home, kafka)
    broken = F.col("value") == F.lit(given["fails_at"] if given["way"] == FAILED else "none")
    value = F.when(broken, F.raise_error(F.lit("told to fail"))).otherwise(F.col("value"))
    rows = frame.select(value.alias("value"))
    if given["operator"] == DEDUPLICATED:
        rows = rows.dropDuplicates(["value"])
    elif given["operator"] == COUNTED:
        rows = rows.groupBy("value").count()
    provider = f"{_PACKAGE}.{PROVIDERS[given['operator']]}"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    trigger = rows.writeStream.option("kafka.bootstrap.servers", kafka)
    if given["way"] == FINISHED:
        return STARTED[given["starter"]](trigger.trigger(availableNow=True), home)
    # Twelve of them run on beside each other: they must leave the processors to the next one.
    return STARTED[given["starter"]](trigger.trigger(processingTime="2 seconds"), home)


def main() -> None:
    """Run every stream, and end in the way that was asked for."""
    home, ways, kafka = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    spark = SparkSession.builder.getOrCreate()
    for given in ways:
        query = start(spark, home / given["name"], given, kafka=kafka)
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
