"""Queries whose contract is compared: of a classic session, and of a client of Spark Connect.

python connect_queries.py ADDRESS DIRECTORY    (without an address: a classic session)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from holdfast.spark.port import port_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

SHARED = ("sources", "source_options", "operators", "watermarks", "output_mode", "state_provider")
"""What both kinds of sessions know of a query."""


def queries(spark: SparkSession, directory: str) -> Iterator[DataFrame]:
    """Yield queries with and without state, from files, a rate and a view."""
    files = (
        spark.readStream.schema("id long, k string, at timestamp")
        .option("maxFilesPerTrigger", 1)
        .json(directory)
    )
    rate = spark.readStream.format("rate").option("rowsPerSecond", 5).load()
    static = spark.range(10).groupBy("id").count()
    yield files.select("id")
    yield files.withWatermark("at", "10 minutes").groupBy("k").agg(f.count("*").alias("n"))
    yield files.dropDuplicates(["id"])
    yield files.join(static, "id")
    yield files.join(rate.withColumn("id", f.col("value")), "id")
    windows = files.withWatermark("at", "1 hour").groupBy(f.session_window("at", "5 minutes"))
    yield windows.count()
    files.createOrReplaceTempView("seen_files")
    yield spark.sql("select k, count(*) as n from seen_files group by k")


def contracts(spark: SparkSession, directory: str) -> list[dict[str, object]]:
    """Return what is shared of the contract of each query."""
    found = []
    for df in queries(spark, directory):
        contract, _ = port_of(spark).describe_query(df, sinks=("out",), output_mode="update")
        told = msgspec.to_builtins(contract)
        found.append({name: told[name] for name in SHARED})
    return found


if __name__ == "__main__":
    address, where = sys.argv[1:]
    builder = SparkSession.builder
    session = (builder.remote(address) if address else builder).getOrCreate()
    print(msgspec.json.encode(contracts(session, where)).decode())
