"""A plain stream, without Holdfast, that ends in the way that it is told.

    python plain_ends.py HOME SOURCE SINK WAY LAST [KAFKA]

It reads everything that is there and prints as JSON what Spark says of its start, of every batch
and of its end. The last row fails, if the way is `failed`. `holdfast facts --code` reads this file.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

FINISHED, STOPPED, FAILED, KILLED, EXITED = "finished", "stopped", "failed", "killed", "exited"
SECONDS = 120


def say(what: str, **facts: Any) -> None:
    """Print what has happened."""
    print(json.dumps({"what": what, **facts}), flush=True)


def read_kafka(spark: SparkSession, _home: Path, kafka: str) -> DataFrame:
    """Return the stream of a topic."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka)
    reader = reader.option("subscribe", "in").option("startingOffsets", "earliest")
    return reader.option("maxOffsetsPerTrigger", 10).load().selectExpr("string(value) AS value")


def read_files(spark: SparkSession, home: Path, _kafka: str) -> DataFrame:
    """Return the stream of a directory."""
    return spark.readStream.option("maxFilesPerTrigger", 1).text(str(home / "in"))


def read_delta(spark: SparkSession, home: Path, _kafka: str) -> DataFrame:
    """Return the stream of a table, to which two versions are added first."""
    table = str(home / "table")
    for new in sorted((home / "in").iterdir())[-2:]:
        rows = spark.read.text(str(new)).coalesce(1)
        rows.write.format("delta").mode("append").save(table)
    return spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(table)


def write_kafka(frame: DataFrame, home: Path, *, kafka: str, **trigger: Any) -> Any:
    """Start it into a topic."""
    writer = frame.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka)
    writer = writer.option("topic", "out").outputMode("append").trigger(**trigger)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def write_files(frame: DataFrame, home: Path, *, kafka: str, **trigger: Any) -> Any:
    """Start it into a directory."""
    del kafka
    writer = frame.writeStream.format("parquet").option("path", str(home / "out"))
    writer = writer.outputMode("append").trigger(**trigger)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def write_delta(frame: DataFrame, home: Path, *, kafka: str, **trigger: Any) -> Any:
    """Start it into a table."""
    del kafka
    writer = frame.writeStream.format("delta").option("path", str(home / "out"))
    writer = writer.outputMode("append").trigger(**trigger)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


def take(batch: DataFrame, _number: int) -> None:
    """Read a batch."""
    batch.collect()


def write_function(frame: DataFrame, home: Path, *, kafka: str, **trigger: Any) -> Any:
    """Start it into a function."""
    del kafka
    writer = frame.writeStream.foreachBatch(take)
    writer = writer.outputMode("append").trigger(**trigger)
    return writer.option("checkpointLocation", str(home / "checkpoint")).start()


SOURCES = {"kafka": read_kafka, "files": read_files, "delta": read_delta}
SINKS = {
    "kafka": write_kafka,
    "files": write_files,
    "delta": write_delta,
    "function": write_function,
}


def batches_of(query: Any) -> list[Any]:
    """Return every batch that ran: its number, and from where to where each source was read."""
    seen = (
        json.loads(each.json) if hasattr(each, "json") else each for each in query.recentProgress
    )
    return [
        [each["batchId"], [[s["startOffset"], s["endOffset"]] for s in each["sources"]]]
        for each in seen
        if "addBatch" in each["durationMs"]
    ]


def run(query: Any, way: str) -> str | None:
    """Let it run until its way to end is over, and return the class of its error."""
    try:
        if way in (FINISHED, FAILED):
            query.awaitTermination(SECONDS)
        else:
            query.processAllAvailable()
    except StreamingQueryException as error:
        return type(error).__name__
    return None


def main() -> None:
    """Run until the way to end is over."""
    given, source, sink, way, last, *rest = sys.argv[1:]
    home, kafka = Path(given), rest[0] if rest else ""
    spark = SparkSession.builder.getOrCreate()
    frame = SOURCES[source](spark, home, kafka)
    broken = F.col("value") == F.lit(f"row {last}" if way == FAILED else "none")
    value = F.when(broken, F.raise_error(F.lit("told to fail"))).otherwise(F.col("value"))
    trigger: dict[str, Any] = {"processingTime": "0 seconds"}
    if way == FINISHED:
        trigger = {"availableNow": True}
    query = SINKS[sink](frame.select(value.alias("value")), home, kafka=kafka, **trigger)
    say("started", query_id=str(query.id), run_id=str(query.runId), spark=spark.version)
    error = run(query, way)
    say("ran", error=error, batches=batches_of(query))
    if way == STOPPED:
        query.stop()
    if way == KILLED:
        time.sleep(SECONDS)
    if way != EXITED:
        spark.stop()


if __name__ == "__main__":
    main()
