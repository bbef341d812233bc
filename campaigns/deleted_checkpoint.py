"""A deleted checkpoint under every kind of output, with real Spark and files: rows are counted.

    python -m campaigns.deleted_checkpoint

Four files are read, the checkpoint is deleted, two files arrive, and the query is started again.
Then it either reads everything again, or only what is new, as Kafka's `latest` does. What the
output holds is compared with that of the same query with its checkpoint in place. The page
`docs/explanation/why-not-delete-it.md` quotes what this prints.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from holdfast.proof.multiset import compare
from lab.scratch import scratch_directory
from lab.spark import start_session

OLD, NEW, ROWS = 4, 2, 100
HEAD = (
    "| output | then reads | rows expected | missing | duplicated | wrong |",
    "|---|---|--:|--:|--:|--:|",
)
SCHEMA = "file INT, number INT, at LONG, id STRING"


@dataclass(frozen=True, slots=True)
class Place:
    """Where one query reads and writes, and what it wrote without a table."""

    spark: SparkSession
    home: Path
    rows: list[Hashable] = field(default_factory=list)
    by_key: dict[int, int] = field(default_factory=dict)

    def add_files(self, numbers: range) -> None:
        """Add input: each hour has rows of two files, and the ids of new files are not new."""
        (self.home / "in").mkdir(parents=True, exist_ok=True)
        for number in numbers:
            lines = (
                f"{number},{row},{3600 * (number + row % 2)},{number % OLD}-{row}\n"
                for row in range(ROWS)
            )
            path = self.home / f"in/{number}.csv"
            path.write_text("".join(lines))
            os.utime(path, (number, number))  # the order in which Spark takes them

    def read(self, files_per_batch: int) -> DataFrame:
        """Return a stream of the input."""
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files_per_batch)
        return reader.csv(str(self.home / "in")).withColumn("at", f.timestamp_seconds("at"))

    def append(self, df: DataFrame) -> Any:
        """Write rows of a query without any identity."""

        def write(batch: DataFrame, _number: int) -> None:
            self.rows.extend(tuple(row) for row in batch.collect())

        return df.writeStream.foreachBatch(write)

    def upsert(self, df: DataFrame, newest: Callable[[int, int], int]) -> Any:
        """Write a value per key."""

        def write(batch: DataFrame, _number: int) -> None:
            for key, value in batch.collect():
                self.by_key[key] = newest(self.by_key.get(key, value), value)

        return df.writeStream.foreachBatch(write)

    def found(self) -> list[Hashable]:
        """Return what the output holds."""
        files = self.home / "out"
        if files.exists():
            return [tuple(row) for row in self.spark.read.parquet(str(files)).collect()]
        return [*self.rows, *self.by_key.items()]


def append(place: Place, df: DataFrame) -> Any:
    """Append without an identity, as most functions do."""
    return place.append(df)


def write_files(place: Place, df: DataFrame) -> Any:
    """Append files, which `_spark_metadata` lists by the number of their batch."""
    return df.writeStream.format("parquet").option("path", str(place.home / "out"))


def merge_newest(place: Place, df: DataFrame) -> Any:
    """Keep the row of the newest file for each key."""
    return place.upsert(df.select("number", "file"), max)


def upsert_totals(place: Place, df: DataFrame) -> Any:
    """Count by key, and replace the total that is there."""
    counted = df.groupBy("number").count()
    return place.upsert(counted, lambda _before, now: now).outputMode("update")


def append_windows(place: Place, df: DataFrame) -> Any:
    """Count by hour, and append an hour when it is over."""
    hours = df.withWatermark("at", "0 seconds").groupBy(f.window("at", "1 hour"))
    return place.append(hours.count().select("window.start", "count"))


def deduplicate(place: Place, df: DataFrame) -> Any:
    """Append every id once."""
    return place.append(df.dropDuplicates(["id"]).select("id"))


OUTPUTS: dict[str, Callable[[Place, DataFrame], Any]] = {
    "append in `foreachBatch`": append,
    "Parquet file sink": write_files,
    "merge by key, newest row wins": merge_newest,
    "totals with state, upserted": upsert_totals,
    "windows with state, appended": append_windows,
    "deduplication with state, appended": deduplicate,
}


def play(spark: SparkSession, home: Path) -> Iterator[str]:
    """Play every output, with the checkpoint kept, then with it deleted; yield a table."""
    yield from HEAD
    for number, (name, output) in enumerate(OUTPUTS.items()):
        wanted = _restart(spark, home / f"{number}-kept", output)
        for reads, only_new in (("everything again", False), ("what is new", True)):
            place = home / f"{number}-{'new' if only_new else 'again'}"
            found = _restart(spark, place, output, is_deleted=True, only_new=only_new)
            seen = compare(wanted, found)
            counts = (seen.expected, seen.missing, seen.duplicated, seen.foreign)
            yield f"| {name} | {reads} | " + " | ".join(f"{each:,}" for each in counts) + " |"


def _restart(
    spark: SparkSession,
    home: Path,
    output: Callable[[Place, DataFrame], Any],
    *,
    is_deleted: bool = False,
    only_new: bool = False,
) -> list[Hashable]:
    """Run the query on the old files, restart it with the new ones, and return what it wrote."""
    place = Place(spark, home)
    place.add_files(range(OLD))
    _run(place, output(place, place.read(files_per_batch=1)))
    if is_deleted:
        shutil.rmtree(home / "checkpoint")
    if only_new:
        shutil.rmtree(home / "in")
    place.add_files(range(OLD, OLD + NEW))
    _run(place, output(place, place.read(files_per_batch=OLD + NEW)))
    return place.found()


def _run(place: Place, writer: Any) -> None:
    writer = writer.option("checkpointLocation", str(place.home / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def main() -> None:
    """Print the table."""
    with scratch_directory() as home:
        for line in play(start_session(home / "spark", {}), home):
            print(line)


if __name__ == "__main__":
    main()
