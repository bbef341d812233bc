"""Two stages without Holdfast: a topic into a raw table, and that into the last table.

    python -m campaigns.five_steps.stages STAGE '{"kind": …, "bootstrap": …, "has_bug": true, …}'

The program runs a stage until it is killed: the driver that somebody believed to be stopped. The
first stage has a bug while `has_bug` says so: every tenth message gets a wrong name.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from campaigns.restart_damage.as_the_web_advises import SINKS

Config = dict[str, Any]

RAW, LAST = "raw", "last"
STAGES = (RAW, LAST)
KINDS = {
    "delta-native": "Delta's own sink",
    "delta-fixed-txn": "Delta, fixed txnAppId",
    "jdbc-append": "JDBC append",
    "jdbc-delete-insert": "JDBC delete and insert",
    "files-native": "Parquet files",
}
"""How the last table is written, and the raw one too where a stream can read it."""
WRONG = "wrong-"
SCHEMA = "partition int, offset bigint, sensor_id string"


def kind_of(stage: str, kind: str) -> str:
    """Return how a stage writes: nobody reads a stream from a table behind JDBC."""
    return "delta-native" if stage == RAW and kind.startswith("jdbc") else kind


def start_stage(spark: SparkSession, stage: str, config: Config, *, once: bool) -> StreamingQuery:
    """Start a stage as a query of its own.

    Args:
        spark: The session.
        stage: Which of the two.
        config: Where everything is.
        once: Whether it ends when it has read all there is.
    """
    rows = _read_topic(spark, config) if stage == RAW else _read_raw(spark, config)
    where = config["outputs"][stage]
    write = SINKS[kind_of(stage, config["kind"])]
    writer = write(rows, where).option("checkpointLocation", config["checkpoints"][stage])
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime="100 milliseconds").start()


def _read_topic(spark: SparkSession, config: Config) -> DataFrame:
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", config["bootstrap"])
        .option("subscribe", config["topic"])
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "false")
        .option("maxOffsetsPerTrigger", config["per_batch"])
        .load()
    )
    name = F.col("key").cast("string")
    if config["has_bug"]:
        name = F.when(F.col("offset") % 10 == 0, F.concat(F.lit(WRONG), name)).otherwise(name)
    return messages.select("partition", "offset", name.alias("sensor_id"))


def _read_raw(spark: SparkSession, config: Config) -> DataFrame:
    path = config["outputs"][RAW]["target"]
    if config["kind"] == "files-native":
        return spark.readStream.schema(SCHEMA).parquet(path)
    return spark.readStream.format("delta").load(path)


def main(stage: str, config: Config) -> None:
    """Run a stage until the process is killed."""
    query = start_stage(SparkSession.builder.getOrCreate(), stage, config, once=False)
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
