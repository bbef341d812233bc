"""How fast a batch goes into PostgreSQL, beside Spark's own JDBC writer and the server's limit.

    python -m benchmarks.postgres_speed [--only append|merge] [--rounds N] [--partitions N]

Two million rows of six columns are appended, one million merged of which half are there already.
All ways take turns; the client's CPU is Python's and the JVM's, the server's that of all its
processes. The limit is two connections that copy bytes made before. Ends with 1 below a floor.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.attempts import FORGET_TABLE, NONCE, attempts, new_row
from benchmarks.measuring import exit_when_missed
from benchmarks.throughput import Way, measure, show, times_faster
from holdfast.ledger import Apply
from holdfast.sinks.postgres.encode import HEADER, TRAILER, encode_batch
from holdfast.sinks.postgres.send import Sender
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.table import check_table
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment

APPENDED, MERGED = 2_000_000, 1_000_000
COLUMNS = "id bigint NOT NULL, device integer NOT NULL, at timestamp NOT NULL, value float8, label text, quantity bigint"  # noqa: E501
NAMES = ("id", "device", "at", "value", "label", "quantity")
LEAST_OVER_JDBC, LEAST_OF_LIMIT = 2.0, 0.45
DATABASE = "speed"
_THERE = """\
INSERT INTO there SELECT i, 1, timestamp '2020-01-01', 0.5, 'sensor-label-00000', 7
FROM generate_series(0, {last}, 2) i
"""
OURS, JDBC, LIMIT = (
    "Holdfast, exactly once",
    "Spark JDBC, tuned",
    "two connections, bytes made before",
)


def make_rows(spark: SparkSession, rows: int, *, partitions: int) -> DataFrame:
    """Return cached rows; the same every time."""
    start_us = 1_700_000_000_000_000
    frame = spark.range(0, rows, 1, partitions).select(
        "id",
        (F.col("id") % 5_000).cast("int").alias("device"),
        F.timestamp_micros(F.col("id") * 1_000 + start_us).cast("timestamp_ntz").alias("at"),
        (F.rand(1) * 1_000).alias("value"),
        F.concat(F.lit("sensor-label-"), (F.rand(2) * 100_000).cast("int")).alias("label"),
        (F.rand(3) * 10**9).cast("long").alias("quantity"),
    )
    cached = frame.cache()
    cached.count()
    return cached


class Bench:
    """A server with tables, and a frame to bring there."""

    def __init__(self, server: Postgres, frame: DataFrame, rows: int) -> None:
        self.server = server
        self.frame = frame
        self.rows = rows
        self.dsn = server.dsn(DATABASE)

    def execute(self, *statements: str) -> list[Any]:
        """Run statements one by one and return the rows of the last."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def check(self) -> None:
        """Hold the table against the rows that were written."""
        expected = (self.rows, self.rows * (self.rows - 1) // 2)
        assert self.execute("SELECT count(*), sum(id) FROM readings") == [expected]

    def holdfast(self, **options: Any) -> Callable[[], None]:
        """Return a function that writes one more batch as the guard would."""
        described = PostgresSink(lambda: self.dsn, table="readings", **options)
        sink = described.writer_for(
            self.frame, stream=f"by {sorted(options)}", output_mode="append"
        )
        sink.create()
        row = new_row(f"by {sorted(options)}", sink.name)
        assert sink.ledger is not None
        assert sink.ledger.replace(None, replace(row, epoch=1, nonce=NONCE))
        following = attempts(row)

        def write() -> None:
            assert sink.write(next(following), self.frame) == Apply()

        return write

    def jdbc(self, table: str) -> None:
        """Write with Spark's own writer, set as its users are told to."""
        url = f"{self.server.jdbc_url(DATABASE)}&reWriteBatchedInserts=true"
        writer = self.frame.write.format("jdbc").mode("append").option("url", url)
        writer.option("dbtable", table).option("batchsize", 10_000).save()

    def limit(self) -> Callable[[], None]:
        """Return a function that copies bytes made before, over two connections."""
        table = self.frame.toArrow()
        with psycopg.connect(self.dsn) as connection:
            encoders = check_table(connection, "readings", table.schema).encoders
        payloads = [bytes(encode_batch(each, encoders)) for each in table.to_batches()]

        def copy(part: list[bytes]) -> None:
            statement = b"COPY readings FROM STDIN BINARY"
            with (
                psycopg.connect(self.dsn) as connection,
                connection.cursor() as cursor,
                cursor.copy(statement, writer=Sender(cursor)) as stream,
            ):
                for piece in (HEADER, *part, TRAILER):
                    stream.write(piece)

        def copy_all() -> None:
            halves = (payloads[::2], payloads[1::2])
            threads = [threading.Thread(target=copy, args=(half,)) for half in halves]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        return copy_all


def report_append(bench: Bench, *, rounds: int) -> list[str]:
    """Measure appends and return the floors that were missed."""
    print(f"Append of {bench.rows:,} rows, {bench.frame.rdd.getNumPartitions()} partitions")
    bench.execute(f"CREATE TABLE readings ({COLUMNS})")

    def empty() -> None:
        bench.execute("TRUNCATE readings", FORGET_TABLE, "CHECKPOINT")

    runs = {
        OURS: bench.holdfast(),
        JDBC: lambda: bench.jdbc("readings"),
        LIMIT: bench.limit(),
    }
    ways = [Way(name=k, run=v, prepare=empty, check=bench.check) for k, v in runs.items()]
    found = measure(ways, rounds=rounds, server_pid=server_pid(bench.server))
    show(found, rows=bench.rows)
    over, of = (times_faster(found[OURS], found[other]) for other in (JDBC, LIMIT))
    print(f"  Holdfast over JDBC {over.show(2)}; of the limit {of.show(2)}")
    missed = []
    if over.median < LEAST_OVER_JDBC:
        missed.append(f"append is {over.median:.2f} times JDBC")
    if of.median < LEAST_OF_LIMIT:
        missed.append(f"append is {of.median:.2f} of the limit")
    bench.execute("DROP TABLE readings")
    return missed


def report_merge(bench: Bench, *, rounds: int) -> None:
    """Measure merges by key, half of the keys there already."""
    print(f"Merge of {bench.rows:,} rows by key, half of them there")
    bench.execute(
        f"CREATE TABLE readings ({COLUMNS}, PRIMARY KEY (id))",
        f"CREATE TABLE staging ({COLUMNS})",
        f"CREATE TABLE there ({COLUMNS})",
        _THERE.format(last=bench.rows - 1),
    )
    changes = ", ".join(f"{name} = excluded.{name}" for name in NAMES[1:])

    def fill() -> None:
        restore = "INSERT INTO readings SELECT * FROM there"
        bench.execute(
            "TRUNCATE readings, staging",
            FORGET_TABLE,
            restore,
            "VACUUM ANALYZE readings",
            "CHECKPOINT",
        )

    def by_jdbc() -> None:
        bench.jdbc("staging")
        bench.execute(
            "INSERT INTO readings SELECT * FROM staging"  # noqa: S608 - no value in it
            f" ON CONFLICT (id) DO UPDATE SET {changes} WHERE excluded.at > readings.at"
        )

    runs = {OURS: bench.holdfast(keys=["id"], sequence_by="at"), f"{JDBC}, then merged": by_jdbc}
    ways = [Way(name=k, run=v, prepare=fill, check=bench.check) for k, v in runs.items()]
    found = measure(ways, rounds=rounds, server_pid=server_pid(bench.server))
    show(found, rows=bench.rows)
    ours, theirs = found.values()
    print(f"  Holdfast over JDBC {times_faster(ours, theirs).show(2)}")


def server_pid(server: Postgres) -> int:
    """Return the process id of the server's first process, which the others descend from."""
    return int((server.directory / "data/postmaster.pid").read_text().split()[0])


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(["append", "merge"]))
@click.option("--rounds", default=7, show_default=True)
@click.option("--partitions", default=8, show_default=True, help="Of the DataFrame, as of a topic.")
def main(*, only: str | None, rounds: int, partitions: int) -> None:
    """Measure both and fail when a floor is missed."""
    missed: list[str] = []
    with Postgres() as server, scratch_directory() as directory:
        server.create_database(DATABASE)
        os.environ.update(environment(Path(directory), {}, jvm=("-Xmx3g",), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        if only != "merge":
            frame = make_rows(spark, APPENDED, partitions=partitions)
            missed += report_append(Bench(server, frame, APPENDED), rounds=rounds)
            frame.unpersist()
        if only != "append":
            frame = make_rows(spark, MERGED, partitions=partitions)
            report_merge(Bench(server, frame, MERGED), rounds=rounds)
        spark.stop()
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
