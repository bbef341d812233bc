"""The streams whose checkpoints are damaged: each has run six batches, and three more wait.

    files     text files, one a batch, no state; the source's log is compacted every fourth batch
    kafka     a topic of two partitions
    hdfs      counts per window with a watermark, in HDFS-backed state with snapshots
    rocksdb   counts per key, in RocksDB with changelogs and snapshots

The last batch that waits touches every key that state still holds, so that its output shows all of
the state. Spark loads state from files for each batch (`unloadOnCommit`), so that every file that
is written is read as well.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lab import Kafka

BATCHES, WAITING = 6, 3
_FIRST_FILE_TIME = 1_700_000_000
_LONGEST_S = 90
_STORE = "spark.sql.streaming.stateStore."
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_TOPIC = "readings"
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarted:
    """What a start did."""

    rows: tuple[Row, ...]
    """Everything that reached the sink, in this start."""
    error: str = ""
    """Words of Spark's message; empty when it ended well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is special of one stream."""

    query: Callable[[DataFrame], DataFrame]
    lines: Callable[[int], list[str]]
    """Of one input file, or one batch's records, by its number."""
    mode: str = "append"
    settings: Mapping[str, str] = field(default_factory=dict)


def _windows(read: DataFrame) -> DataFrame:
    part = f.split("value", ",")
    rows = read.select(part[0].cast("long").cast("timestamp").alias("at"), part[1].alias("key"))
    counted = rows.withWatermark("at", "10 seconds").groupBy(f.window("at", "20 seconds"), "key")
    shown = counted.count()
    return shown.select(f.col("window.start").cast("long"), "key", "count")


def _window_lines(number: int) -> list[str]:
    """Return rows that a watermark a second later would drop, and one that a second less keeps."""
    at = _FIRST_FILE_TIME + 10 * number
    lines = [f"{at},a", f"{at},b", f"{at - 8},c", f"{at - 40},late"]
    return lines + [f"{at - 10 + each},all" for each in range(0, 10, 2)]


def _keys(read: DataFrame) -> DataFrame:
    return read.groupBy("value").count()


def _key_lines(number: int) -> list[str]:
    known = [f"k{each}" for each in range(BATCHES + WAITING)]
    is_last = number == BATCHES + WAITING - 1
    return ["a", "b", *(known if is_last else known[number : number + 2])]


SHAPES: Mapping[str, Shape] = {
    "files": Shape(
        query=lambda read: read,
        lines=lambda number: [f"r{number}-{each}" for each in range(3)],
        settings={"spark.sql.streaming.fileSource.log.compactInterval": "4"},
    ),
    "kafka": Shape(
        query=lambda read: read, lines=lambda number: [f"r{number}-{each}" for each in range(6)]
    ),
    "hdfs": Shape(
        query=_windows,
        lines=_window_lines,
        mode="update",
        settings={_STORE + "minDeltasForSnapshot": "2", _STORE + "unloadOnCommit": "true"},
    ),
    "rocksdb": Shape(
        query=_keys,
        lines=_key_lines,
        mode="update",
        settings={
            _STORE + "providerClass": _ROCKSDB,
            _STORE + "rocksdb.changelogCheckpointing.enabled": "true",
            _STORE + "minDeltasForSnapshot": "3",
            _STORE + "unloadOnCommit": "true",
        },
    ),
}


@dataclass(kw_only=True)
class Stream:
    """One stream, made once; copies of its checkpoint are damaged."""

    name: str
    spark: SparkSession
    place: Path
    """A directory of its own, which may hold what an earlier run of the sweep has made."""
    kafka: Kafka | None = None

    @property
    def shape(self) -> Shape:
        """What is special of it."""
        return SHAPES[self.name]

    @property
    def checkpoint(self) -> Path:
        """The one that is not damaged."""
        return self.place / "checkpoint"

    @cached_property
    def session(self) -> SparkSession:
        """A session with the settings of the stream."""
        session = self.spark.newSession()
        for name, value in self.shape.settings.items():
            session.conf.set(name, value)
        return session

    def make(self) -> None:
        """Run the batches, unless an earlier run has, and let the others wait."""
        if self.kafka is not None:
            self.kafka.create_topic(_TOPIC, partitions=2)
        draft = self.place / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        for number in range(BATCHES):
            self._add(number)
        if not self.checkpoint.exists():
            made = self.start(draft)
            assert not made.error, made.error
            draft.rename(self.checkpoint)
        for number in range(BATCHES, BATCHES + WAITING):
            self._add(number)

    def _add(self, number: int) -> None:
        lines = self.shape.lines(number)
        if self.kafka is not None:
            at_ms = (_FIRST_FILE_TIME + number) * 1000
            records = [(each % 2, None, line.encode(), at_ms) for each, line in enumerate(lines)]
            self.kafka.produce(_TOPIC, records)
            return
        inputs = self.place / "input"
        inputs.mkdir(parents=True, exist_ok=True)
        path = inputs / f"{number:03}"
        path.write_text("".join(f"{line}\n" for line in lines))
        at = _FIRST_FILE_TIME + number  # Spark reads them in this order
        os.utime(path, (at, at))

    def _read(self) -> DataFrame:
        if self.kafka is None:
            reader = self.session.readStream.format("text").option("maxFilesPerTrigger", 1)
            return reader.load(str(self.place / "input"))
        options = {
            "kafka.bootstrap.servers": self.kafka.address,
            "subscribe": _TOPIC,
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "6",
        }
        reader = self.session.readStream.format("kafka").options(**options)
        return reader.load().selectExpr("CAST(value AS STRING) AS value")

    def start(self, checkpoint: Path) -> Restarted:
        """Start the query on a checkpoint, until everything is read or it fails."""
        rows: list[Row] = []

        def keep(batch: DataFrame, _: int) -> None:
            rows.extend(tuple(row) for row in batch.collect())

        writer = self.shape.query(self._read()).writeStream.outputMode(self.shape.mode)
        writer = writer.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
        error = ""
        try:
            query = writer.trigger(availableNow=True).start()
            try:
                if not query.awaitTermination(_LONGEST_S):
                    error = f"it was still running after {_LONGEST_S} s"
            finally:
                query.stop()
        except (PySparkException, Py4JJavaError) as raised:
            error = " ".join(str(raised).split()) or type(raised).__name__
        return Restarted(rows=tuple(rows), error=error)
