"""How fast one task writes a batch that the driver cannot hold, beside Spark's own JDBC writer.

    python -m benchmarks.large_batch_speed [--rows N] [--rounds N] [--heap SIZE]

The rows are read from Parquet. In Arrow's form they are larger than the whole heap of the JVM, so
that nothing but a stream of them gets through. Both ways take turns, and each round is checked.
Ends with 1 below a floor.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.attempts import FORGET_TABLE, NONCE, attempts, new_row
from benchmarks.measuring import ratios, spread
from holdfast.ledger import Apply
from holdfast.sinks.postgres.large import BUDGET_SETTING
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment

DATABASE = "large"
COLUMNS = "id bigint, device integer, at timestamp, value float8, label text, note text"
LEAST_OVER_JDBC = 1.7
OURS, JDBC = "Holdfast, by one task", "Spark JDBC, tuned"


def write_parquet(spark: SparkSession, path: Path, rows: int) -> DataFrame:
    """Write rows of some 250 bytes, and return them as they are read from the files."""
    start_us = 1_700_000_000_000_000
    frame = spark.range(0, rows, 1, 8).select(
        "id",
        (F.col("id") % 5_000).cast("int").alias("device"),
        F.timestamp_micros(F.col("id") * 1_000 + start_us).cast("timestamp_ntz").alias("at"),
        (F.rand(1) * 1_000).alias("value"),
        F.concat(F.lit("sensor-label-"), (F.rand(2) * 100_000).cast("int")).alias("label"),
        F.repeat(F.sha2(F.col("id").cast("string"), 256), 3).alias("note"),
    )
    frame.write.parquet(str(path))
    return spark.read.parquet(str(path))


def arrow_bytes(frame: DataFrame) -> int:
    """Return how large a frame is in Arrow's form."""

    def measure(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415 - in the task

        sizes = [batch.nbytes for batch in batches]
        yield pa.RecordBatch.from_pydict({"size": [sum(sizes)]})

    return int(sum(row.size for row in frame.mapInArrow(measure, "size long").collect()))


def by_one_task(frame: DataFrame, dsn: str, directory: Path) -> Callable[[], None]:
    """Return a function that writes one more batch as the guard would."""
    secret = directory / "dsn"
    secret.write_text(dsn)
    described = PostgresSink(f"file:{secret}", table="readings")
    sink = described.writer_for(frame, stream="large", output_mode="append")
    sink.create()
    row = new_row("large", sink.name)
    assert sink.ledger is not None
    assert sink.ledger.replace(None, replace(row, epoch=1, nonce=NONCE))
    following = attempts(row)

    def write() -> None:
        assert sink.write(next(following), frame) == Apply()

    return write


def by_jdbc(frame: DataFrame, server: Postgres) -> Callable[[], None]:
    """Return a function that writes with Spark's own writer, set as its users are told to."""
    url = f"{server.jdbc_url(DATABASE)}&reWriteBatchedInserts=true"

    def write() -> None:
        writer = frame.write.format("jdbc").mode("append").option("url", url)
        writer.option("dbtable", "readings").option("batchsize", 10_000).save()

    return write


def take_turns(
    ways: dict[str, Callable[[], None]], dsn: str, rows: int, *, rounds: int
) -> dict[str, list[float]]:
    """Run each way in turn, once to warm up and then as often as asked; return the seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, write in ways.items():
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("TRUNCATE readings")
                connection.execute(FORGET_TABLE)
                connection.execute("CHECKPOINT")
                began = time.perf_counter()
                write()
                took = time.perf_counter() - began
                found = connection.execute("SELECT count(*), sum(id) FROM readings").fetchone()
            assert found == (rows, rows * (rows - 1) // 2), found
            if number:
                seconds[name].append(took)
    return seconds


@click.command(help=__doc__)
@click.option("--rows", default=2_500_000, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--heap", default="512m", show_default=True, help="Of the JVM.")
def main(*, rows: int, rounds: int, heap: str) -> None:
    """Measure both, and fail when the floor is missed."""
    with Postgres() as server, scratch_directory() as directory:
        dsn = server.create_database(DATABASE)
        with psycopg.connect(dsn) as connection:
            connection.execute(f"CREATE TABLE readings ({COLUMNS})".encode())
        settings = {BUDGET_SETTING: str(64 << 20)}
        os.environ.update(environment(directory, settings, jvm=(f"-Xmx{heap}",), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        frame = write_parquet(spark, directory / "rows", rows)
        size = arrow_bytes(frame)
        print(f"{rows:,} rows, {size / 1e6:,.0f} MB in Arrow's form, a heap of {heap}")
        ways = {OURS: by_one_task(frame, dsn, directory), JDBC: by_jdbc(frame, server)}
        seconds = take_turns(ways, dsn, rows, rounds=rounds)
        spark.stop()
    for name, each in seconds.items():
        rate = spread([rows / took / 1e3 for took in each]).show(0)
        print(f"  {name:<24}{rate} thousand rows/s")
    over = ratios(seconds[JDBC], seconds[OURS])
    print(f"  Holdfast over JDBC {over.show(2)}, {rounds} rounds")
    if over.median < LEAST_OVER_JDBC:
        sys.exit(f"Missed: {over.median:.2f} times JDBC, not {LEAST_OVER_JDBC}.")


if __name__ == "__main__":
    main()
