"""How fast a large batch gets into PostgreSQL, beside Spark's own JDBC writer.

    python -m benchmarks.large_batch_speed [--rows N] [--rounds N] [--heap SIZE] [--tasks-alone]
                                           [--parallel N]

The rows are read from Parquet. They go through the driver, where what memory should not hold waits
in a file, or by one task, as they do when the driver should not take them. By one task they are
shuffled into its partition, or, to compare, all read by it. With `parallel=` several tasks read and
copy them, into a table of the same columns that is partitioned. The ways take turns, and each round
is checked. With `--heap 512m --tasks-alone` the rows are more than the JVM has memory for. Ends
with 1 below a floor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.attempts import FORGET_TABLE, NONCE, attempts, new_row
from benchmarks.measuring import exit_when_missed, ratios, spread
from holdfast.ledger import Apply, Attempt
from holdfast.sinks import collect
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.writer import PostgresWriter
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment

DATABASE = "large"
COLUMNS = "id bigint, device integer, at timestamp, value float8, label text, note text"
FLOOR = 1.2
DRIVER, TASK, READER = "through the driver", "by one task", "one task that also reads"
PARALLEL, PARTED = "parallel={}", "parted"
JDBC = "Spark JDBC, tuned"
_ATTACHED = """\
SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'parted'::regclass"""
MEMORY = 64 << 20
"""What may wait in the driver's memory here, so that files are written."""


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


def open_sink(
    described: PostgresSink, frame: DataFrame
) -> tuple[PostgresWriter, Iterator[Attempt]]:
    """Return what the guard would write with, and the batches it would write."""
    stream = f"large-{described.table}"
    sink = described.writer_for(frame, stream=stream, output_mode="append")
    assert isinstance(sink, PostgresWriter)
    sink.create()
    row = new_row(stream, sink.name)
    assert sink.ledger.replace(None, replace(row, epoch=1, nonce=NONCE))
    return sink, attempts(row)


def our_ways(frame: DataFrame, secret: str, *, parallel: int) -> dict[str, Callable[[], None]]:
    """Return functions that write one more batch each."""
    sink, following = open_sink(PostgresSink(secret, table="readings"), frame)
    parted = PostgresSink(secret, table=PARTED, parallel=parallel)
    several, following_parted = open_sink(parted, frame)

    def through_driver() -> None:
        decision = sink._write_here(next(following), frame, lambda _: None)  # noqa: SLF001 - what is measured
        assert decision == Apply()

    def by_task() -> None:
        decision = sink._write_in_task(next(following), frame, lambda _: None)  # noqa: SLF001 - what is measured
        assert decision == Apply()

    def by_reader() -> None:
        with patch.object(DataFrame, "repartition", lambda self, _: self):
            by_task()

    def by_several() -> None:
        assert several.write(next(following_parted), frame) == Apply()

    name = PARALLEL.format(parallel)
    return {DRIVER: through_driver, TASK: by_task, READER: by_reader, name: by_several}


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
            table = PARTED if name.startswith(PARALLEL.format("")) else "readings"
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("TRUNCATE readings")
                for (part,) in connection.execute(_ATTACHED).fetchall():
                    connection.execute(f"DROP TABLE {part}".encode())
                connection.execute(FORGET_TABLE)
                connection.execute("CHECKPOINT")
                began = time.perf_counter()
                write()
                took = time.perf_counter() - began
                found = connection.execute(
                    f"SELECT count(*), sum(id) FROM {table}".encode()  # noqa: S608 - ours
                ).fetchone()
            assert found == (rows, rows * (rows - 1) // 2), found
            if number:
                seconds[name].append(took)
    return seconds


@click.command(help=__doc__)
@click.option("--rows", default=2_500_000, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--heap", default="4g", show_default=True, help="Of the JVM.")
@click.option("--tasks-alone", is_flag=True, help="Nothing goes through the driver.")
@click.option("--parallel", default=2, show_default=True)
def main(*, rows: int, rounds: int, heap: str, tasks_alone: bool, parallel: int) -> None:
    """Measure all, and fail when the floor is missed."""
    with Postgres() as server, scratch_directory() as directory:
        dsn = server.create_database(DATABASE)
        with psycopg.connect(dsn) as connection:
            connection.execute(f"CREATE TABLE readings ({COLUMNS})".encode())
            columns = f"{COLUMNS}, holdfast_part bigint NOT NULL"
            by_part = "PARTITION BY LIST (holdfast_part)"
            connection.execute(f"CREATE TABLE {PARTED} ({columns}) {by_part}".encode())
        os.environ.update(environment(directory, {}, jvm=(f"-Xmx{heap}",), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        frame = write_parquet(spark, directory / "rows", rows)
        size = arrow_bytes(frame)
        print(f"{rows:,} rows, {size / 1e6:,.0f} MB in Arrow's form, a heap of {heap}")
        collect.IN_MEMORY_BYTES = MEMORY
        secret = directory / "dsn"
        secret.write_text(dsn)
        ours = our_ways(frame, f"file:{secret}", parallel=parallel)
        ways = {**ours, JDBC: by_jdbc(frame, server)}
        if tasks_alone:
            del ways[DRIVER]
        seconds = take_turns(ways, dsn, rows, rounds=rounds)
        spark.stop()
    below = []
    for name, each in seconds.items():
        rate = spread([rows / took / 1e3 for took in each]).show(0)
        over = ratios(seconds[JDBC], each)
        print(f"  {name:<26}{rate} thousand rows/s, {over.show(2)} times JDBC")
        if over.median < FLOOR and name in (DRIVER, TASK):
            below.append(f"{name} is {over.median:.2f} times JDBC, not {FLOOR}")
    print(f"  {rounds} rounds")
    exit_when_missed(below)


if __name__ == "__main__":
    main()
