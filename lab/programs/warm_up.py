"""The run that fills the class archive; started by `lab.warm_up`.

python warm_up.py BASE [BOOTSTRAP TOPIC]

Reads the topic, or without one the files below BASE, and writes below BASE.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter


def main(base: str, kafka: list[str]) -> None:
    """Run each kind of query once."""
    spark = SparkSession.builder.getOrCreate()
    messages = read_topic(spark, *kafka) if kafka else read_files(spark, f"{base}/files")
    if "spark.sql.extensions" in dict(spark.sparkContext.getConf().getAll()):
        run_delta(messages, base)
    counts = messages.groupBy("partition").count()
    run(counts.writeStream.outputMode("update").foreachBatch(collect), f"{base}/cp-counts")
    end(spark)


def run_delta(messages: DataFrame, base: str) -> None:
    """Append to a Delta table, and merge from it into another one."""
    run(messages.writeStream.format("delta").option("path", f"{base}/raw"), f"{base}/cp-raw")
    raw = messages.sparkSession.readStream.format("delta").load(f"{base}/raw")
    typed = raw.select("partition", F.col("value").cast("string").alias("value"))
    run(typed.writeStream.foreachBatch(merge_into(f"delta.`{base}/gold`")), f"{base}/cp-merge")


def read_topic(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """Return the messages of a topic, in two batches."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "60")
        .load()
    )


def read_files(spark: SparkSession, files: str) -> DataFrame:
    """Return the lines of files, one file in a batch, in columns like those of a topic."""
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(files)
    return lines.select((F.length("value") % 2).alias("partition"), "value")


def run(writer: DataStreamWriter, checkpoint: str) -> None:
    """Run a query over all there is, twice, so that recovery is warm too."""
    for _ in range(2):
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        query.start().awaitTermination()


def merge_into(gold: str) -> Callable[[DataFrame, int], None]:
    """Return a function that merges a batch into a Delta table by SQL."""

    def merge(batch: DataFrame, _: int) -> None:
        spark = batch.sparkSession
        spark.sql(f"create table if not exists {gold} (partition int, value string) using delta")
        batch.dropDuplicates(["partition"]).createOrReplaceTempView("batch")
        spark.sql(
            f"merge into {gold} t using batch s on t.partition = s.partition "
            "when matched then update set * when not matched then insert *"
        )

    return merge


def collect(batch: DataFrame, _: int) -> None:
    """Bring a batch to the driver, as a sink would."""
    (getattr(batch, "toArrow", None) or batch.collect)()  # 3.5 has only the latter


def end(spark: SparkSession) -> None:
    """Stop Spark, and wait until its JVM is gone: it writes the archive last."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - Python has no other way
    java = gateway.proc
    spark.stop()
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
