"""A plain PySpark program of several queries: `python tests/spark/plain_job.py PLACE`."""

from __future__ import annotations

import argparse
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

SCHEMA = "a string, b string, x long, t timestamp"
ROW = '{"a":"%d","b":"2","x":1,"t":"2026-01-01T00:00:00Z"}\n'


def prepare(place: Path) -> None:
    for number, name in enumerate(("first", "second")):
        (place / name).mkdir(parents=True)
        (place / name / "rows.json").write_text(ROW % number)


def read(spark: SparkSession, place: Path, name: str) -> DataFrame:
    return spark.readStream.schema(SCHEMA).json(str(place / name))


def take(batch: DataFrame, _: int) -> None:
    batch.collect()


def totals(spark: SparkSession, place: Path, keys: str = "a,b") -> DataStreamWriter:
    """Sums by some keys, with a watermark."""
    rows = read(spark, place, "first").withWatermark("t", "10 minutes")
    sums = rows.groupBy(*keys.split(",")).agg(F.sum("x").alias("total"))
    writer = sums.writeStream.outputMode("update").queryName("totals")
    checkpoint = str(place / "checkpoints" / "totals")
    return writer.foreachBatch(take).option("checkpointLocation", checkpoint)


def copy(
    spark: SparkSession,
    place: Path,
    *,
    sources: str = "first,second",
    out: str = "out",
    least: str = "0",
) -> DataStreamWriter:
    """Copies two directories into one."""
    first, second = (read(spark, place, name) for name in sources.split(","))
    rows = first.union(second).where(F.col("x") >= int(least))
    writer = rows.writeStream.format("parquet").option("path", str(place / out))
    return writer.queryName("copy").option(
        "checkpointLocation", str(place / "checkpoints" / "copy")
    )


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("place", type=Path)
    asked.add_argument("--keys", default="a,b")
    asked.add_argument("--sources", default="first,second")
    asked.add_argument("--out", default="out")
    asked.add_argument("--least", default="0")
    asked.add_argument("--table", action="store_true")
    given = asked.parse_args()
    # A program for a cluster names its master; a run here says another one.
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "3").getOrCreate()
    if given.table:
        spark.range(3).write.format("delta").save(str(given.place / "table"))
    chains = [
        totals(spark, given.place, given.keys),
        copy(spark, given.place, sources=given.sources, out=given.out, least=given.least),
    ]
    queries = [each.trigger(availableNow=True).start() for each in chains]
    for query in queries:
        query.awaitTermination()
    while any(query.isActive for query in queries):
        queries[0].processAllAvailable()
    for query in queries:
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
