"""The run that fills the class archive; started by `lab.warm_up` as a driver."""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

_BASE = "s3a://lake/warm-up"


def main(bootstrap: str, topic: str) -> None:
    """Run each kind of query once."""
    spark = SparkSession.builder.getOrCreate()
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "60")
        .load()
    )
    run(messages.writeStream.format("delta").option("path", f"{_BASE}/raw"), "raw")
    raw = spark.readStream.format("delta").load(f"{_BASE}/raw")
    typed = raw.select("partition", F.col("value").cast("string").alias("value"))
    run(typed.writeStream.foreachBatch(merge), "merge")
    counts = messages.groupBy("partition").count()
    run(counts.writeStream.outputMode("update").foreachBatch(collect), "counts")
    spark.stop()


def run(writer: DataStreamWriter, name: str) -> None:
    """Run a query over all there is, twice, so that recovery is warm too."""
    for _ in range(2):
        query = writer.option("checkpointLocation", f"{_BASE}/cp-{name}").trigger(availableNow=True)
        query.start().awaitTermination()


def merge(batch: DataFrame, _: int) -> None:
    """Merge a batch into a Delta table by SQL."""
    spark, gold = batch.sparkSession, f"delta.`{_BASE}/gold`"
    spark.sql(f"create table if not exists {gold} (partition int, value string) using delta")
    batch.dropDuplicates(["partition"]).createOrReplaceTempView("batch")
    spark.sql(
        f"merge into {gold} t using batch s on t.partition = s.partition "
        "when matched then update set * when not matched then insert *"
    )


def collect(batch: DataFrame, _: int) -> None:
    """Bring a batch to the driver, as a sink would."""
    batch.toArrow()


if __name__ == "__main__":
    main(*sys.argv[1:])
