"""Streams of Parquet files into Delta tables, guarded and as people write them: a file is a batch.

All of them run side by side in one session, and wait for files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.drills.kill.waiting import wait_until

KEY, ORDER = "id", "at"
CHECKPOINT = "readings"
SECONDS = 300.0
_VIEW = "newest_of_batch"
Start = Callable[[DataFrame, Path], Any]
"""Starts a query on a stream, with its table and all it keeps below a directory."""


@dataclass(slots=True, kw_only=True)
class FileStream:
    """A running query, and the directory it takes its files from."""

    name: str
    home: Path
    query: Any
    jobs: list[int] = field(default_factory=list)
    """How many Spark jobs each batch ran."""
    checkpoint: str = CHECKPOINT
    """The name of the directory of its checkpoint."""
    _fed: int = 0

    def run_batch(self, file: Path) -> float:
        """Give it a file and return how long its batch took, in ms, as Spark tells it."""
        before = self._count_jobs()
        os.link(file, self.home / "files" / f"{self._fed:06}.parquet")
        self._fed += 1
        batch = self._fed - 1
        commit = self.home / self.checkpoint / "commits" / str(batch)
        wait_until(lambda: commit.exists() or not self.query.isActive, seconds=SECONDS)
        assert self.query.isActive, f"{self.name}: {self.query.exception()}"
        assert wait_until(lambda: self._told(batch) is not None, seconds=SECONDS), self.name
        self.jobs.append(self._count_jobs() - before)
        told = self._told(batch)
        assert told is not None
        return told

    def _told(self, batch: int) -> float | None:
        """Return how long a batch took, once the query tells of it."""
        # The last one may be that of a query that waits, which bears the number of the next batch.
        for progress in reversed(self.query.recentProgress):
            if progress["batchId"] == batch and progress["numInputRows"]:
                return float(progress["durationMs"]["triggerExecution"])
        return None

    def _count_jobs(self) -> int:
        spark = SparkSession.active()
        tracker = spark.sparkContext.statusTracker()
        return len(tracker.getJobIdsForGroup(str(self.query.runId)))

    @property
    def table(self) -> str:
        """The table, as SQL takes it."""
        return f"delta.`{self.home / 'table'}`"


def open_stream(  # noqa: PLR0913 - each by name
    spark: SparkSession,
    name: str,
    home: Path,
    *,
    start: Start,
    schema: Any,
    checkpoint: str = CHECKPOINT,
) -> Any:
    """Start a query on an empty directory."""
    (home / "files").mkdir(parents=True)
    frame = spark.readStream.schema(schema).parquet(str(home / "files"))
    return FileStream(name=name, home=home, query=start(frame, home), checkpoint=checkpoint)


def appended_natively(frame: DataFrame, home: Path) -> Any:
    """Delta's own sink."""
    writer = frame.writeStream.format("delta").option("checkpointLocation", str(home / CHECKPOINT))
    return writer.start(str(home / "table"))


def appended_by_function(frame: DataFrame, home: Path) -> Any:
    """`foreachBatch` as Delta's documentation has it, with an application id and the batch's."""

    def write(batch: DataFrame, number: int) -> None:
        writer = batch.write.format("delta").mode("append").option("txnAppId", "readings")
        writer.option("txnVersion", number).save(str(home / "table"))

    return _each_batch(frame, home, write)


def appended_guarded(frame: DataFrame, home: Path) -> Any:
    """Holdfast."""
    sink = hf.Delta(path=str(home / "table"))
    return hf.start(frame, stream=CHECKPOINT, into=sink, root=str(home))


def merged_by_function(frame: DataFrame, home: Path) -> Any:
    """`foreachBatch` as a careful user merges: the newest of each key, and only what is newer."""
    target = f"delta.`{home / 'table'}`"
    newest = Window.partitionBy(KEY).orderBy(F.col(ORDER).desc())
    empty = frame.sparkSession.createDataFrame([], frame.schema)
    empty.write.format("delta").save(str(home / "table"))

    def write(batch: DataFrame, _number: int) -> None:
        ranked = batch.withColumn("rank", F.row_number().over(newest))
        ranked.where("rank = 1").drop("rank").createOrReplaceTempView(_VIEW)
        batch.sparkSession.sql(
            f"MERGE INTO {target} t USING {_VIEW} s ON t.{KEY} = s.{KEY}"
            f" WHEN MATCHED AND s.{ORDER} > t.{ORDER} THEN UPDATE SET *"
            " WHEN NOT MATCHED THEN INSERT *"
        )

    return _each_batch(frame, home, write)


def merged_guarded(frame: DataFrame, home: Path) -> Any:
    """Holdfast."""
    sink = hf.Delta(path=str(home / "table"), keys=[KEY], sequence_by=ORDER)
    return hf.start(frame, stream=CHECKPOINT, into=sink, root=str(home))


def _each_batch(frame: DataFrame, home: Path, write: Callable[[DataFrame, int], None]) -> Any:
    writer = frame.writeStream.foreachBatch(write)
    return writer.option("checkpointLocation", str(home / CHECKPOINT)).start()


def check_same_rows(spark: SparkSession, streams: list[FileStream]) -> None:
    """Hold every table against the first: as many rows, whose hashes add up to the same."""
    found = {each.name: add_up(spark.table(each.table)) for each in streams}
    first = found[streams[0].name]
    assert all(each == first for each in found.values()), f"tables differ: {found}"


def add_up(frame: DataFrame) -> tuple[Any, ...]:
    """Return how many rows there are, and the sum of their hashes."""
    hashed = F.xxhash64(*frame.columns).cast("decimal(38,0)")
    row = frame.agg(F.count(F.lit(1)), F.sum(hashed)).first()
    assert row is not None
    return tuple(row)
