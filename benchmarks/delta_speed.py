"""What a guarded batch into Delta takes, beside the same batch without a guard.

    python -m benchmarks.delta_speed [--only small|large|merge|ledger] [--pairs N]

Streams run side by side in one session and get the same files in turns; a batch is timed by Spark
itself (triggerExecution). Appends are held against Delta's own sink, merges against a foreachBatch
with MERGE. Then the ledger's own part, on tables of three lengths. Ends with 1 below a floor.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks import delta_ledger, delta_streams
from benchmarks.delta_streams import FileStream, Start, check_same_rows, open_stream
from benchmarks.guard_spans import BEGAN, ENDED, CountingReader, Spans
from benchmarks.measuring import exit_when_missed
from benchmarks.pairs import Measured, compare_medians, measure_in_turns, show_percentiles
from benchmarks.postgres_speed import make_rows
from holdfast.sinks.delta import table
from lab.scratch import scratch_directory
from lab.spark import environment

SMALL, LARGE, MERGED = 100, 1_000_000, 10_000
THERE = 100_000
"""Keys in the table before the first merge."""
AIM = 1.10
GUARDED, NATIVE, FUNCTION = "Holdfast", "Delta's own sink", "foreachBatch"
APPENDS: dict[str, Start] = {
    NATIVE: delta_streams.appended_natively,
    FUNCTION: delta_streams.appended_by_function,
    GUARDED: delta_streams.appended_guarded,
}
MERGES: dict[str, Start] = {
    FUNCTION: delta_streams.merged_by_function,
    GUARDED: delta_streams.merged_guarded,
}
OPEN = "reader_of"
OWN = {
    "S1, what the batch covers": (BEGAN, "S1"),
    "S2 S3, the ledger read, decide": ("S2", "S3"),
    "S4 to S6, Delta itself": ("S3", "S6"),
    "looked at again, back to Spark": ("S6", ENDED),
}
POLLING = {"spark.sql.streaming.pollingDelay": "200ms"}
"""Not the default of 10: streams that wait would list their directories while others are timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A session, and a place for files, tables and checkpoints."""

    spark: SparkSession
    home: Path
    pairs: int

    def compare(self, starts: Mapping[str, Start], file: Callable[[int], Path]) -> Measured:
        """Run the same batches through several streams and show what they took.

        Args:
            starts: How each stream is started, by its name.
            file: Gives the file of a batch.
        """
        schema = self.spark.read.parquet(str(file(0))).schema
        with counted_requests() as requests, Spans() as spans:
            streams = [
                open_stream(self.spark, name, self.home / str(number), start=start, schema=schema)
                for number, (name, start) in enumerate(starts.items())
            ]
            requests.clear()  # those of the start
            ways = {each.name: batches_of(each, file) for each in streams}
            found = measure_in_turns(ways, turns=self.pairs)
            for each in streams:
                each.query.stop()
        for each in streams:
            show_percentiles(each.name, found[each.name])
            print(f"    {statistics.median(each.jobs[-self.pairs :]):g} Spark jobs per batch")
        show_own(spans, requests, batches=self.pairs)
        check_same_rows(self.spark, streams)
        return found


def batches_of(stream: FileStream, file: Callable[[int], Path]) -> Callable[[], float]:
    """Return what runs one batch after the other of a stream, and says how long each took."""

    def following() -> Iterator[float]:
        number = 0
        while True:
            yield stream.run_batch(file(number))
            number += 1

    return following().__next__


@contextmanager
def counted_requests() -> Iterator[Counter[str]]:
    """Count what the guard asks of the storage of tables that are opened meanwhile."""
    counts: Counter[str] = Counter()
    opened = getattr(table, OPEN)
    setattr(table, OPEN, lambda *given: CountingReader(opened(*given), counts))
    try:
        yield counts
    finally:
        setattr(table, OPEN, opened)


def show_own(spans: Spans, requests: Counter[str], *, batches: int) -> None:
    """Print what of a guarded batch is the guard's."""
    found = spans.batches[-batches:]
    for name, (begin, end) in OWN.items():
        show_percentiles(f"  {name}", [(times[end] - times[begin]) * 1e3 for times in found])
    of_checkpoint: Counter[str] = sum(spans.requests[-batches:], Counter())
    for place, counts, times in (
        ("checkpoint", of_checkpoint, batches),
        ("table", requests, len(spans.batches)),
    ):
        each = ", ".join(f"{count / times:.1f} {what}" for what, count in sorted(counts.items()))
        print(f"    requests to the {place}'s storage per batch: {each}")


def report_append(bench: Bench, *, rows: int) -> list[str]:
    """Measure appends of so many rows, and return the aim if it was missed."""
    print(f"Append of {rows:,} rows of six columns, {bench.pairs} turns")
    frame = make_rows(bench.spark, rows, partitions=1)
    file = write_parquet(frame, bench.home / "input")
    frame.unpersist()
    found = bench.compare(APPENDS, lambda _: file)
    print(f"  foreachBatch over native {compare_medians(found[FUNCTION], found[NATIVE])}")
    return judge(found, NATIVE, what=f"an append of {rows:,} rows")


def report_merge(bench: Bench) -> list[str]:
    """Measure merges, half of the rows there already, and return the aim if it was missed."""
    print(f"Merge of {MERGED:,} rows by key, half of them there, {bench.pairs} turns")
    made: dict[int, Path] = {}

    def file(number: int) -> Path:
        if number not in made:
            made[number] = make_changes(bench.spark, number, bench.home / "input" / str(number))
        return made[number]

    found = bench.compare(MERGES, file)
    return judge(found, FUNCTION, what="a merge")


def make_changes(spark: SparkSession, number: int, directory: Path) -> Path:
    """Write the rows of a merge: the first fills the table, each later one is half new."""
    if number == 0:
        return write_parquet(_keyed(spark, 0, THERE), directory)
    half = MERGED // 2
    first_new = THERE + (number - 1) * half
    known = _keyed(spark, (number * half) % THERE, half)
    later = known.withColumn("at", F.expr(f"at + interval {number} days"))
    return write_parquet(later.union(_keyed(spark, first_new, half)), directory)


def _keyed(spark: SparkSession, first: int, count: int) -> DataFrame:
    frame = make_rows(spark, count, partitions=1)
    shifted = frame.withColumn("id", F.col("id") + first)
    frame.unpersist()
    return shifted


def write_parquet(frame: DataFrame, directory: Path) -> Path:
    """Write rows into one file and return it."""
    frame.coalesce(1).write.parquet(str(directory))
    (file,) = directory.glob("part-*.parquet")
    return file


def judge(found: Measured, other: str, *, what: str, aim: float = AIM) -> list[str]:
    """Print how the guarded stream compares, and return the aim if it was missed."""
    ratio = compare_medians(found[GUARDED], found[other])
    print(f"  Holdfast over {other} {ratio}", flush=True)
    return [f"{what} takes {ratio}"] if ratio.value > aim else []


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(["small", "large", "merge", "ledger"]))
@click.option("--pairs", default=40, show_default=True)
def main(*, only: str | None, pairs: int) -> None:
    """Measure what is asked for and fail when an aim is missed."""
    parts: dict[str, Callable[[Bench], list[str]]] = {
        "small": lambda bench: report_append(bench, rows=SMALL),
        "large": lambda bench: report_append(bench, rows=LARGE),
        "merge": report_merge,
    }
    missed: list[str] = []
    with scratch_directory() as directory:
        if only != "ledger":
            settings = environment(directory, POLLING, jvm=("-Xmx3g",), log_level="error")
            os.environ.update(settings)
            spark = SparkSession.builder.getOrCreate()
            for name in [only] if only else parts:
                missed += parts[name](Bench(spark=spark, home=directory / name, pairs=pairs))
            spark.stop()
        if only in (None, "ledger"):
            missed += delta_ledger.report(directory / "ledger")
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
