"""What a batch into MariaDB takes, beside Spark's JDBC writer in a `foreachBatch`.

    python -m benchmarks.database_speed [--rows ROWS] [--pairs N]

The JDBC writer is MySQL's own with `rewriteBatchedStatements`, in batches of 10,000. Ours write
by INSERT, as by default, and by LOAD DATA. All streams run side by side in one session, get the
same file in turns, and write into tables of one server, as it is shipped; a batch is timed by Spark
itself (triggerExecution). At the end all tables must have the same rows; only the column of times
may be other by JDBC, as it is with MariaDB. Ends with 1 below the aim.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from benchmarks.delta_speed import POLLING, batches_of, write_parquet
from benchmarks.delta_streams import open_stream
from benchmarks.measuring import exit_when_missed
from benchmarks.pairs import Measured, compare_medians, measure_in_turns, show_percentiles
from benchmarks.postgres_speed import make_rows
from lab.jars import fetch_jars
from lab.mariadb import PASSWORD, MariaDB
from lab.scratch import scratch_directory
from lab.spark import environment

AIM = 1.0
"""Of the rows per second of the JDBC writer, for the faster of our two ways."""
JDBC, INSERT, LOAD = "JDBC, rewritten", "Holdfast, INSERT", "Holdfast, LOAD DATA"
COLUMNS = (
    "id bigint, device int, at datetime(6), value double, "
    "label varchar(64) CHARACTER SET utf8mb4, quantity bigint"
)
Start = Callable[[DataFrame, Path], Any]


def by_jdbc(server: MariaDB) -> Start:
    """Return what starts a stream that appends by JDBC, and guards nothing."""
    options = "useSSL=false&allowPublicKeyRetrieval=true&rewriteBatchedStatements=true"
    url = f"jdbc:mysql://127.0.0.1:{server.port}/{_database(JDBC)}?{options}"

    def write(batch: DataFrame, _number: int) -> None:
        writer = batch.write.format("jdbc").mode("append").option("url", url)
        writer = writer.option("driver", "com.mysql.cj.jdbc.Driver").option("dbtable", "readings")
        writer = writer.option("user", "lab").option("password", PASSWORD)
        writer.option("batchsize", "10000").save()

    def start(frame: DataFrame, home: Path) -> Any:
        writer = frame.writeStream.foreachBatch(write)
        return writer.option("checkpointLocation", str(home / _database(JDBC))).start()

    return start


def by_holdfast(server: MariaDB, name: str) -> Start:
    """Return what starts a guarded stream."""
    url = server.url(_database(name)) + ("?local_infile=1" if name == LOAD else "")

    def start(frame: DataFrame, home: Path) -> Any:
        sink = hf.Database(lambda: url, table="readings")
        return hf.start(frame, stream=_database(name), into=sink, root=str(home))

    return start


def _database(name: str) -> str:
    return "speed" + "".join(each for each in name.lower() if each.isalpha())


def check_same_rows(server: MariaDB) -> None:
    """Hold the tables against each other: as many rows, whose checksums add up to the same."""
    names = ("id", "device", "at", "value", "label", "quantity")
    summed = ", ".join(["count(*)", *(f"sum(crc32({each}))" for each in names)])
    found = {
        name: server.ask(f"SELECT {summed} FROM readings", database=_database(name))  # noqa: S608
        for name in (JDBC, INSERT, LOAD)
    }
    assert found[INSERT] == found[LOAD], f"tables differ: {found}"
    differ = [
        name
        for name, ours, theirs in zip(names, found[LOAD][0][1:], found[JDBC][0][1:], strict=True)
        if ours != theirs
    ]
    assert set(differ) <= {"at"}, f"tables differ: {found}"
    print(f"  all tables have {found[JDBC][0][0]:,} rows; columns that differ by JDBC: {differ}")


def judge(found: Measured, *, rows: int) -> list[str]:
    """Print how the guarded streams compare, and return the aim if it was missed."""
    best = 0.0
    for name in (INSERT, LOAD):
        # Rows per second: the ratio of the times, the other way round.
        ratio = compare_medians(found[JDBC], found[name])
        best = max(best, ratio.value)
        print(f"  {name}: {ratio} the rows per second of JDBC, {rows:,} rows", flush=True)
    return [f"the faster way has {best:.2f} times the rows per second"] if best < AIM else []


@click.command(help=__doc__)
@click.option("--rows", default=200_000, show_default=True)
@click.option("--pairs", default=12, show_default=True)
def main(*, rows: int, pairs: int) -> None:
    """Measure appends, and fail when the aim is missed."""
    print(f"Append of {rows:,} rows of six columns, {pairs} turns")
    with scratch_directory() as directory, MariaDB() as server:
        jars = {"spark.jars": ",".join(map(str, fetch_jars("jdbc-mysql")))}
        settings = {**POLLING, **jars}
        os.environ.update(environment(directory, settings, jvm=("-Xmx3g",), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        frame = make_rows(spark, rows, partitions=1)
        file = write_parquet(frame, directory / "input")
        frame.unpersist()
        starts = {JDBC: by_jdbc(server)}
        starts |= {name: by_holdfast(server, name) for name in (INSERT, LOAD)}
        for name in starts:
            server.create_database(_database(name))
            server.ask(f"CREATE TABLE readings ({COLUMNS})", database=_database(name))
        streams = [
            open_stream(
                spark,
                name,
                directory / str(number),
                start=start,
                schema=frame.schema,
                checkpoint=_database(name),
            )
            for number, (name, start) in enumerate(starts.items())
        ]
        ways = {each.name: batches_of(each, lambda _: file) for each in streams}
        found = measure_in_turns(ways, turns=pairs)
        for each in streams:
            each.query.stop()
            show_percentiles(each.name, found[each.name])
        check_same_rows(server)
        missed = judge(found, rows=rows)
        spark.stop()
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
