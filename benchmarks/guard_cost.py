"""What the guard itself costs: per batch beside Spark's work and the data's way, and per start.

    python -m benchmarks.guard_cost [--batches N] [--starts N]

A stream of small files goes into PostgreSQL, one file per batch. The spans lie between the numbered
points of the protocol; requests are calls to the checkpoint's storage. Then starts of a stream that
has nothing to do, guarded and bare in turns, with the checkpoint on disk and on S3.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import psycopg
from pyspark.sql import DataFrame, SparkSession

from benchmarks.guard_spans import (
    BEGAN,
    COLLECTED,
    COLLECTING,
    ENDED,
    OPTIMISED,
    OPTIMISING,
    Spans,
)
from benchmarks.measuring import exit_when_missed, in_turns, spread
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.streams.start import start
from lab import S3, Postgres
from lab.scratch import scratch_directory
from lab.spark import environment

MOST_MS = 10.0
WARM = 20
PARTS = {
    "S1, what the batch covers": (BEGAN, "S1"),
    "the ledger asked before": ("S1", OPTIMISING),
    "Spark's optimiser": (OPTIMISING, OPTIMISED),
    "how large it is": (OPTIMISED, COLLECTING),
    "Spark's job": (COLLECTING, COLLECTED),
    "S2 S3, begin, lock, decide": (COLLECTED, "S3"),
    "S4, the rows": ("S3", "S4"),
    "S5, the ledger written": ("S4", "S5"),
    "S6, commit": ("S5", "S6"),
    "S7, back to Spark": ("S6", ENDED),
}
NOT_OURS = ("Spark's optimiser", "Spark's job", "S4, the rows", "S6, commit")
"""Any writer has these. The guard asks for the optimised plan before the job does, which then takes
it as it is; PostgreSQL's commit waits for the disk."""


def read_files(spark: SparkSession, files: Path) -> DataFrame:
    """Return the stream, one file per batch."""
    return spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(files))


def run_guarded(frame: DataFrame, root: str, dsn: str) -> Any:
    """Start the stream as a user does."""
    sink = PostgresSink(lambda: dsn, table="readings")
    once = {"availableNow": True}
    return start(frame, stream="readings", into=sink, root=root, trigger=once)


def run_bare(frame: DataFrame, checkpoint: str) -> Any:
    """Start it without a guard, into nothing."""
    writer = frame.writeStream.foreachBatch(lambda _batch, _number: None)
    return writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()


def report_batches(frame: DataFrame, root: str, *, dsn: str, batches: int) -> list[str]:
    """Measure the spans of many batches and return the aim if it was missed."""
    with Spans() as spans:
        run_guarded(frame, root, dsn).awaitTermination()
    found = spans.batches[WARM:]
    assert len(found) == batches, f"{len(found)} batches"
    print(f"A guarded batch of one small file, {batches} of them, checkpoint on disk; ms")
    own = [0.0] * batches
    for name, (begin, end) in PARTS.items():
        each = [(times[end] - times[begin]) * 1e3 for times in found]
        show(name, each)
        if name not in NOT_OURS:
            own = [before + more for before, more in zip(own, each, strict=True)]
    show("the guard's own", own)
    total: Counter[str] = sum(spans.requests[WARM:], Counter())
    requests = ", ".join(f"{count / batches:.1f} {name}" for name, count in sorted(total.items()))
    print(f"  requests to the checkpoint's storage per batch: {requests}")
    middle = statistics.median(own)
    return [f"the guard takes {middle:.1f} ms of a batch"] if middle > MOST_MS else []


def show(name: str, figures: list[float]) -> None:
    """Print the median and the 95th percentile of a part."""
    high = statistics.quantiles(figures, n=20)[-1]
    print(f"  {name:<30}p50 {statistics.median(figures):8.2f}   p95 {high:8.2f}")


def report_starts(frame: DataFrame, root: str, *, dsn: str, starts: int, store: str) -> None:
    """Time the call that starts a stream with nothing to do, guarded and bare."""
    queries: list[Any] = []

    def settle() -> None:
        for query in queries:
            query.awaitTermination()
        queries.clear()

    actions: dict[str, Callable[[], object]] = {
        "guarded": lambda: queries.append(run_guarded(frame, f"{root}/guarded", dsn)),
        "settle guarded": settle,
        "bare": lambda: queries.append(run_bare(frame, f"{root}/bare")),
        "settle bare": settle,
    }
    in_turns(actions, 2)
    times = in_turns(actions, starts)
    print(f"A start, checkpoint on {store}, {starts} of them in turns; s")
    for name in ("guarded", "bare"):
        print(f"  {name:<10}{spread(times[name]).show(3)}")


def new_database(server: Postgres, name: str) -> str:
    """Return a database with an empty table."""
    dsn = server.create_database(name)
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE readings (value text)")
    return dsn


def write_files(directory: Path, count: int) -> Path:
    """Write small files and return where they are."""
    directory.mkdir()
    for number in range(count):
        (directory / f"f{number:05}").write_text(f"row {number}\n")
    return directory


@click.command(help=__doc__)
@click.option("--batches", default=200, show_default=True)
@click.option("--starts", default=7, show_default=True)
def main(*, batches: int, starts: int) -> None:
    """Measure batches, then starts, and fail when the aim is missed."""
    with Postgres() as server, S3() as s3, scratch_directory() as directory:
        os.environ.update(environment(directory, s3.spark_settings(), jvm=(), log_level="error"))
        spark = SparkSession.builder.getOrCreate()
        many = read_files(spark, write_files(directory / "many", WARM + batches))
        dsn = new_database(server, "batches")
        missed = report_batches(many, str(directory / "streams"), dsn=dsn, batches=batches)
        few = read_files(spark, write_files(directory / "few", 2))
        places = {"disk": str(directory / "starts"), "S3": "s3a://lake/starts"}
        for store, root in places.items():
            dsn = new_database(server, f"starts_{store.lower()}")
            report_starts(few, root, dsn=dsn, starts=starts, store=store)
        spark.stop()
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
