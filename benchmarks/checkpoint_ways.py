"""The queries whose checkpoints are measured: each differs from another in one setting.

A source that makes its own rows and a sink that writes nothing, so that what a batch stores is its
checkpoint and nothing else. The file source has read 1,000 files before anything is measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

ROWS_PER_BATCH = 2_000
KEYS = 50_000
"""So many rows the state has once every key has come."""
FILES_BEFORE = 1_000
PARTITIONS, MANY_PARTITIONS = 4, 16
RETAINED, FEW_RETAINED = 10, 2
"""Batches. Spark's default is 100; with 10, old entries are purged within the measurement."""
COMPACT_EVERY, COMPACT_SELDOM = 10, 50
ASYNC = {
    "asyncProgressTrackingEnabled": "true",
    "asyncProgressTrackingCheckpointIntervalMs": "1000",
}
_PREFIX = "spark.sql.streaming."
_STORE = f"{_PREFIX}stateStore."
_ROCKSDB = {
    f"{_STORE}providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
_CHANGELOG = f"{_STORE}rocksdb.changelogCheckpointing.enabled"
_SNAPSHOTS = {**_ROCKSDB, _CHANGELOG: "false"}
_CHANGES = {**_ROCKSDB, _CHANGELOG: "true"}
COMMON = {
    f"{_PREFIX}minBatchesToRetain": f"{RETAINED}",
    "spark.sql.shuffle.partitions": f"{PARTITIONS}",
}
ROWS, COUNTS, FILES = "rows", "counts", "files"
"""A query without state, one that counts by key, and one that reads files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One query with its settings."""

    name: str
    query: str = COUNTS
    base: str = ""
    """The way that it is compared with; empty for one that others are compared with."""
    settings: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the writer."""

    def start(self, spark: SparkSession, files: Path, checkpoint: str) -> Any:
        """Start it with a session of its own; it runs batch after batch until it is stopped."""
        session = spark.newSession()
        for name, value in {**COMMON, **self.settings}.items():
            session.conf.set(name, value)
        writer = self._frame(session, files).writeStream.format("noop").outputMode("update")
        writer = writer.options(**self.options).option("checkpointLocation", checkpoint)
        return writer.trigger(processingTime="0 seconds").start()

    def _frame(self, session: SparkSession, files: Path) -> DataFrame:
        if self.query == FILES:
            return (
                session.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(files))
            )
        options = {
            "rowsPerBatch": f"{ROWS_PER_BATCH}",
            "numPartitions": "2",
            "startTimestamp": "1767225600000",
            "advanceMillisPerBatch": "500",
        }
        rows = session.readStream.format("rate-micro-batch").options(**options).load()
        return rows if self.query == ROWS else rows.groupBy(rows.value % KEYS).count()


def read_files_before(spark: SparkSession, files: Path, checkpoint: str) -> None:
    """Let the file source read its first files in one batch, and stop."""
    reader = spark.newSession().readStream.format("text").load(str(files))
    writer = reader.writeStream.format("noop").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


STATELESS, FILE_SOURCE = "stateless", "file source, 1,000 files read before"
STATEFUL, SNAPSHOTS = "stateful, HDFS-backed", "RocksDB, a snapshot in every batch"
CHANGES = "RocksDB, changelog checkpointing"
WAYS = (
    Way(name=STATELESS, query=ROWS),
    Way(name="asynchronous progress, every 1 s", query=ROWS, base=STATELESS, options=ASYNC),
    Way(name=FILE_SOURCE, query=FILES),
    Way(
        name=f"the same, compaction after {COMPACT_SELDOM} batches, not {COMPACT_EVERY}",
        query=FILES,
        base=FILE_SOURCE,
        settings={f"{_PREFIX}fileSource.log.compactInterval": f"{COMPACT_SELDOM}"},
    ),
    Way(name=STATEFUL),
    Way(
        name=f"the same, {MANY_PARTITIONS} partitions, not {PARTITIONS}",
        base=STATEFUL,
        settings={"spark.sql.shuffle.partitions": f"{MANY_PARTITIONS}"},
    ),
    Way(
        name=f"the same, minBatchesToRetain {FEW_RETAINED}, not {RETAINED}",
        base=STATEFUL,
        settings={f"{_PREFIX}minBatchesToRetain": f"{FEW_RETAINED}"},
    ),
    Way(name=SNAPSHOTS, base=STATEFUL, settings=_SNAPSHOTS),
    Way(name=CHANGES, base=SNAPSHOTS, settings=_CHANGES),
    Way(
        name="the same, state format 2",
        base=CHANGES,
        settings={**_CHANGES, f"{_STORE}checkpointFormatVersion": "2"},
    ),
)
