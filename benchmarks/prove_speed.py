"""How long the proof of a table takes, beside a bare scan and aggregate of the same data.

    python -m benchmarks.prove_speed [ROWS…]

Both sides are Delta tables of the same rows, written in another order: seven columns, as the first
table of a Kafka pipeline has them. The bare job scans both tables and aggregates every column: a
count, sums of numbers and of lengths, the newest time. The proof hashes every row of both and adds
up the hashes. Beside it stands a proof that finds one lost row, and so looks twice.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.measuring import exit_when_missed, in_turns, ratios, spread
from holdfast.proof.tables import prove_tables
from lab.scratch import scratch_directory
from lab.spark import environment

ROWS = (1_000_000, 10_000_000)
TURNS = 3
LARGE = 50_000_000
"""From here on once."""
MOST = 1.5
"""Times the bare job, at the largest size."""
FILE_ROWS = 5_000_000
PARTITIONS = 8


def make_rows(spark: SparkSession, rows: int) -> DataFrame:
    """Return rows such as those of a topic."""
    return spark.range(rows).select(
        F.lit("sensors").alias("topic"),
        (F.col("id") % PARTITIONS).cast("int").alias("partition"),
        F.floor(F.col("id") / PARTITIONS).alias("offset"),
        F.timestamp_micros(F.lit(1_760_000_000_000_000) + F.col("id") * 1_000).alias("timestamp"),
        F.concat(F.lit("sensor-"), F.col("id") % 10_000).cast("binary").alias("key"),
        F.concat(F.lit("reading "), F.xxhash64("id")).alias("value"),
        (F.xxhash64("id") / 1e6).alias("measured"),
    )


def scan(*tables: DataFrame) -> None:
    """Read every column of each table, and aggregate it."""
    for df in tables:
        sums = (F.sum(name) for name in ("partition", "offset", "measured"))
        lengths = (F.sum(F.length(name)) for name in ("topic", "key", "value"))
        df.agg(F.count("*"), *sums, *lengths, F.max("timestamp")).collect()


def measure(spark: SparkSession, place: Path, rows: int) -> float:
    """Print one line for a size; return how many times longer the proof takes."""
    tables = [str(place / name) for name in ("expected", "found")]
    for table, order in zip(tables, ("timestamp", "key"), strict=True):
        written = make_rows(spark, rows).repartitionByRange(2, order)
        options = {"maxRecordsPerFile": FILE_ROWS}
        written.write.format("delta").mode("overwrite").options(**options).save(table)
    expected, found = (spark.read.format("delta").load(table) for table in tables)
    damaged = found.where("NOT (partition = 3 AND offset = 7)")

    def prove() -> None:
        assert prove_tables(expected, found).exact

    def find() -> None:
        assert prove_tables(expected, damaged).lost == 1

    seconds = in_turns(
        {"bare": lambda: scan(expected, found), "proof": prove, "one lost": find},
        TURNS if rows < LARGE else 1,
    )
    times = ratios(seconds["proof"], seconds["bare"])
    print(
        f"{rows:>13,}",
        *(spread(seconds[name]).show().rjust(24) for name in ("bare", "proof", "one lost")),
        times.show(2).rjust(22),
        flush=True,
    )
    return times.median


def main(arguments: list[str]) -> None:
    """Measure every size."""
    sizes = [int(each.replace("_", "")) for each in arguments] or list(ROWS)
    print(
        "rows per side".rjust(13),
        *(head.rjust(24) for head in ("bare scan, s", "proof, s", "one row lost, s")),
        "proof / bare".rjust(22),
    )
    with scratch_directory() as place:
        os.environ.update(environment(place, {}, jvm=("-Xmx4g",), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        try:
            found = [measure(spark, place / str(rows), rows) for rows in sizes]
        finally:
            spark.stop()
    exit_when_missed([f"{found[-1]:.2f} times a bare scan"] if found[-1] > MOST else [])


if __name__ == "__main__":
    main(sys.argv[1:])
