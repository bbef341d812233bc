"""A stream that looks as if it had run for years, written into a bucket without running it.

Real Spark runs three batches of an aggregation. Their files are repeated under the names that later
batches, more partitions and more starts would have given them. No batch runs on such a checkpoint:
a start finds nothing to do, so what is in the state is never read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import obstore
import psycopg
from obstore.store import S3Store
from pyspark.sql import DataFrame, SparkSession

from holdfast.drills.kill.waiting import wait_until
from holdfast.record.documents import encode
from holdfast.record.generations import OPENED, Generation
from holdfast.record.layout import HOME, generation_path
from holdfast.record.leases import Lease
from holdfast.record.owner import Owner
from holdfast.record.runs import FINISHED, Run
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.streams.heartbeat import THREAD
from holdfast.streams.refusal import StartRefusedError
from holdfast.streams.start import start

STREAM = "readings"
FILES = 3
VERSIONS = 100
SNAPSHOT_EVERY = 10
UPLOADERS = 32
_STORES = "state/0"
_NOW = "2026-11-15T06:00:00+00:00"
_RUN_ID = "308f0242-442c-4f8c-9e68-5b944bf5e6ae"
_OWNER = Owner(host="etl-7", pid=4411, machine="another boot", pid_started="1")
SECONDS = 60.0
LATER = {"processingTime": "1 hour"}
"""A trigger of a query that stays, and has nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Age:
    """How much a stream has left behind."""

    partitions: int = 20
    """Of the state; 109 objects in each: 100 deltas and 9 snapshots."""
    batches: int = 150
    starts: int = 10

    @property
    def state_objects(self) -> int:
        """All of them, without the two files that describe the operator."""
        return self.partitions * len(_store_names(self))


def query_of(spark: SparkSession, files: Path) -> DataFrame:
    """Return the aggregation, one file per batch."""
    reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
    return reader.load(str(files)).groupBy("value").count()


def run_three_batches(spark: SparkSession, directory: Path) -> dict[str, bytes]:
    """Return the files of a checkpoint that Spark made on disk."""
    files, checkpoint = directory / "in", directory / "checkpoint"
    files.mkdir(parents=True)
    for number in range(FILES):
        (files / f"f{number}").write_text(f"row {number}\n")
    run_bare(query_of(spark, files), str(checkpoint), {"availableNow": True}).awaitTermination()
    found = [path for path in checkpoint.rglob("*") if path.is_file() and path.suffix != ".crc"]
    return {str(path.relative_to(checkpoint)): path.read_bytes() for path in found}


def run_bare(frame: DataFrame, checkpoint: str, trigger: dict[str, Any]) -> Any:
    """Start the query without a guard, into nothing."""
    writer = frame.writeStream.foreachBatch(_drain).outputMode("update")
    return writer.option("checkpointLocation", checkpoint).trigger(**trigger).start()


def wait_until_idle(query: Any) -> None:
    """Wait until a query has looked for data once and found none."""
    idle = wait_until(lambda: "Waiting for next trigger" in str(query.status), seconds=SECONDS)
    assert idle, query.status


def end(query: Any) -> None:
    """Stop a query once it is idle, and wait until its lease is released."""
    wait_until_idle(query)
    query.stop()
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(SECONDS)


def _drain(batch: DataFrame, _number: int) -> None:
    """Run a batch to nothing: Spark fails one whose state was not updated."""
    batch.write.format("noop").mode("overwrite").save()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgedStream:
    """A stream below a root of the bucket, and the table that it goes into."""

    frame: DataFrame
    root: str
    """Path in the bucket `lake`."""
    dsn: str

    @property
    def checkpoint(self) -> str:
        """Where its checkpoint is, as Spark is told."""
        return f"s3a://lake/{self.root}/{STREAM}"

    def start(self, **more: Any) -> Any:
        """Start it as a user does; it has nothing to do and stays until it is stopped."""
        sink = PostgresSink(lambda: self.dsn, table="readings", keys=["value"])
        root = f"s3a://lake/{self.root}"
        given = {"into": sink, "root": root, "trigger": LATER, "outputMode": "update", **more}
        return start(self.frame, stream=STREAM, **given)

    def start_bare(self) -> Any:
        """Start its query on the same checkpoint without a guard."""
        return run_bare(self.frame, self.checkpoint, LATER)

    def age(self, store: S3Store, checkpoint: dict[str, bytes], age: Age) -> None:
        """Write everything into the bucket, and take the stream over from there once."""
        with psycopg.connect(self.dsn) as connection:
            connection.execute("CREATE TABLE readings (value text PRIMARY KEY, count bigint)")
        record = f"{HOME}/{STREAM}"
        files = [(f"{STREAM}/{path}", raw) for path, raw in _checkpoint_files(checkpoint, age)]
        files += [(f"{record}/{path}", raw) for path, raw in _record_files(age)]
        with ThreadPoolExecutor(UPLOADERS) as pool:
            list(
                pool.map(lambda file: obstore.put(store, f"{self.root}/{file[0]}", file[1]), files)
            )
        end(self._adopt())
        # From here on it is a stream that was opened by Holdfast, as nearly all are.
        place = f"{self.root}/{record}/{generation_path(1)}"
        found = msgspec.json.decode(obstore.get(store, place).bytes().to_bytes(), type=Generation)
        obstore.put(store, place, encode(msgspec.structs.replace(found, why=OPENED)))

    def _adopt(self) -> Any:
        try:
            return self.start(checkpoint=self.checkpoint)
        except StartRefusedError as refused:
            accept = " ".join(f"{code}:{nonce}" for code, nonce in refused.nonces.items())
        return self.start(checkpoint=self.checkpoint, accept=accept)


def _checkpoint_files(small: dict[str, bytes], age: Age) -> Iterator[tuple[str, bytes]]:
    last = FILES - 1
    offsets = small[f"offsets/{last}"]
    told = b'"spark.sql.shuffle.partitions":"%d"'
    assert offsets.count(told % 2) == 1, "the template has two partitions"
    for path, raw in small.items():
        if not path.startswith(("offsets/", "commits/", "state/")):
            yield path, raw
    for batch in range(age.batches):
        yield f"offsets/{batch}", offsets.replace(told % 2, told % age.partitions)
        yield f"commits/{batch}", small[f"commits/{last}"]
    described = small[f"{_STORES}/_metadata/metadata"]
    partitions = b'"numPartitions":%d'
    yield (
        f"{_STORES}/_metadata/metadata",
        described.replace(partitions % 2, partitions % age.partitions),
    )
    yield f"{_STORES}/0/_metadata/schema", small[f"{_STORES}/0/_metadata/schema"]
    for partition in range(age.partitions):
        for name in _store_names(age):
            yield f"{_STORES}/{partition}/{name}", small[f"{_STORES}/0/{FILES}.delta"]


def _store_names(age: Age) -> list[str]:
    """Return the files of one partition: a delta for each of the last batches, some snapshots."""
    versions = range(max(age.batches - VERSIONS, 0) + 1, age.batches + 1)
    snapshots = versions[SNAPSHOT_EVERY - 1 : -1 : SNAPSHOT_EVERY]
    return [*(f"{each}.delta" for each in versions), *(f"{each}.snapshot" for each in snapshots)]


def _record_files(age: Age) -> Iterator[tuple[str, bytes]]:
    for epoch in range(1, age.starts + 1):
        lease = Lease(epoch=epoch, owner=_OWNER, token="17" * 16, nonce="7b" * 16, released=True)
        run = Run(
            epoch=epoch,
            run_id=_RUN_ID,
            generation=1,
            contract="3ff2be5905ab7f09",
            spark="4.2",
            started_at=_NOW,
            first_batch=age.batches,
            ended=FINISHED,
            ended_at=_NOW,
        )
        yield lease.path, encode(lease)
        yield run.path, encode(run)
