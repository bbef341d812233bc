"""Batches into PostgreSQL, guarded and by a bare foreachBatch, in turns; a child of `version_cost`.

    python version_batches.py DSN JDBC_URL DIRECTORY ROWS BATCHES TURNS

Runs in the environment of one version of Spark, which has Holdfast's own needs and no more. Prints
the milliseconds of every batch as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf

WARM = 2
"""The first batches of a query are not counted."""
TABLE = "CREATE TABLE {} (id bigint, device integer, value float8, label text)"
FOUND = "SELECT count(*), sum(id) FROM {}"


def write_input(spark: SparkSession, files: Path, *, rows: int, batches: int) -> DataFrame:
    """Write one file per batch, and return them as a stream."""
    for number in range(batches):
        each = spark.range(number * rows, (number + 1) * rows, 1, 1).select(
            "id",
            (F.col("id") % 5_000).cast("int").alias("device"),
            (F.col("id") / 7).alias("value"),
            F.concat(F.lit("label-"), F.col("id") % 1_000).alias("label"),
        )
        each.write.mode("append").parquet(str(files))
    schema = "id BIGINT, device INT, value DOUBLE, label STRING"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(files))


def guarded(frame: DataFrame, name: str, *, dsn: str, directory: Path) -> Any:
    """Start the stream as a user of Holdfast does."""
    sink = hf.Postgres(lambda: dsn, table=name)
    once = {"availableNow": True}
    return hf.start(frame, stream=name, root=str(directory), into=sink, trigger=once)


def bare(frame: DataFrame, name: str, *, url: str, directory: Path) -> Any:
    """Start it with Spark's own writer, set as its users are told to; not exactly once."""

    def write(batch: DataFrame, _number: int) -> None:
        writer = batch.write.format("jdbc").mode("append").option("url", url)
        writer = writer.option("driver", "org.postgresql.Driver").option("batchsize", 10_000)
        writer.option("dbtable", name).save()

    stream = frame.writeStream.foreachBatch(write).trigger(availableNow=True)
    return stream.option("checkpointLocation", str(directory / name)).start()


def time_batches(begin: Callable[[str], Any], name: str, *, dsn: str, rows: int) -> list[float]:
    """Run a stream into a new table, hold the table against the rows, and return the times."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(TABLE.format(name).encode())
        query = begin(name)
        query.awaitTermination()
        found = connection.execute(FOUND.format(name).encode()).fetchone()
    assert found == (rows, rows * (rows - 1) // 2), found
    times = [each["durationMs"]["triggerExecution"] for each in query.recentProgress]
    return [float(each) for each in times[WARM:]]


def main(arguments: list[str]) -> None:
    """Run both in turns, the first turn to warm up."""
    dsn, url, home, *numbers = arguments
    rows, batches, turns = map(int, numbers)
    directory = Path(home)
    spark = SparkSession.builder.getOrCreate()
    frame = write_input(spark, directory / "in", rows=rows, batches=batches)
    ways: dict[str, Callable[[str], Any]] = {
        "guarded": lambda name: guarded(frame, name, dsn=dsn, directory=directory / "roots"),
        "bare": lambda name: bare(frame, name, url=url, directory=directory / "bare"),
    }
    found: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(turns + 1):
        for way, begin in ways.items():
            times = time_batches(begin, f"{way}{turn}", dsn=dsn, rows=rows * batches)
            if turn:
                found[way] += times
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
