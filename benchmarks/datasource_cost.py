"""What a small batch costs through `format("holdfast")`, beside `hf.start` and a bare function.

    python -m benchmarks.datasource_cost [--batches N] [--rows N] [--turns N]

Files of rows go into PostgreSQL, one file per batch, in turns. The figure is Spark's `addBatch`: it
plans the write, runs its tasks, and commits.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import psycopg
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment

WARM = 3
_ONCE = {"availableNow": True}


def _through_data_source(frame: DataFrame, sink: hf.Postgres, root: str) -> Any:
    options = hf.guard_options(stream="readings", into=sink, root=root)
    writer = frame.writeStream.format("holdfast").options(**options)
    return writer.trigger(availableNow=True).start()


def _through_start(frame: DataFrame, sink: hf.Postgres, root: str) -> Any:
    return hf.start(frame, stream="readings", into=sink, root=root, trigger=_ONCE)


def _bare(frame: DataFrame, sink: hf.Postgres, root: str) -> Any:
    dsn = Path(str(sink.dsn).removeprefix("file:")).read_text()

    def write(batch: DataFrame, _: int) -> None:
        statement = f"COPY {sink.table} FROM STDIN".encode()
        with (
            psycopg.connect(dsn) as connection,
            connection.cursor() as cursor,
            cursor.copy(statement) as copy,
        ):
            for row in batch.toArrow().to_pylist():
                copy.write_row((row["value"],))

    writer = frame.writeStream.foreachBatch(write).option("checkpointLocation", f"{root}/bare")
    return writer.trigger(availableNow=True).start()


WAYS: dict[str, Callable[[DataFrame, hf.Postgres, str], Any]] = {
    "bare foreachBatch": _bare,
    "hf.start": _through_start,
    'format("holdfast")': _through_data_source,
}


def _count(dsn: str, table: str) -> int:
    with psycopg.connect(dsn) as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()  # noqa: S608 - our own
    return int(found[0]) if found else 0


@click.command()
@click.option("--batches", default=15, show_default=True)
@click.option("--rows", default=100, show_default=True)
@click.option("--turns", default=2, show_default=True)
def main(batches: int, rows: int, turns: int) -> None:
    """Measure, and print a line for each way."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    with scratch_directory() as directory, Postgres() as server:
        os.environ.update(environment(directory / "spark", {}, log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        files = directory / "in"
        files.mkdir()
        for number in range(batches + WARM):
            (files / f"f{number:04}").write_text("".join(f"row {n}\n" for n in range(rows)))
        dsn = server.create_database("datasource_cost")
        (directory / "dsn").write_text(dsn)
        for turn in range(turns):
            for number, (way, run) in enumerate(WAYS.items()):
                table = f"readings_{turn}_{number}"
                with psycopg.connect(dsn) as connection:
                    connection.execute(f"CREATE TABLE {table} (value text)".encode())
                sink = hf.Postgres(f"file:{directory / 'dsn'}", table=table)
                frame = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
                query = run(frame.load(str(files)), sink, str(directory / table))
                query.awaitTermination()
                each = [p["durationMs"].get("addBatch", 0) for p in query.recentProgress]
                found[way] += each[WARM:]
                assert _count(dsn, table) == (batches + WARM) * rows
        spark.stop()
    for way, each in found.items():
        middle = statistics.median(each)
        print(f"{way}: {middle:.0f} ms per batch of {rows:,} rows ({min(each)} to {max(each)})")


if __name__ == "__main__":
    main()
