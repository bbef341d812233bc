"""How many versions of its state a query must keep, so that a batch that failed can run again."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from holdfast.drills.kill.waiting import wait_until
from holdfast.streams.announce import RETENTION
from tests.spark.file_stream import Stream

STORE = "spark.sql.streaming.stateStore"
OF_SPARK = "org.apache.spark.sql.execution.streaming.state"
HDFS = f"{OF_SPARK}.HDFSBackedStateStoreProvider"
ROCKSDB = f"{OF_SPARK}.RocksDBStateStoreProvider"
UPKEEP = {f"{STORE}.maintenanceInterval": "100ms", f"{STORE}.minDeltasForSnapshot": "1"}
FAILS_AT = 2


@pytest.fixture
def settled(stream: Stream) -> Iterator[Stream]:
    """A stream whose session does its upkeep all the time.

    A JVM has one thread for it, as often as the first query wanted it. Stopped with its lock, as
    Spark's other method does, it can wait for itself for minutes.
    """
    jvm: Any = stream.spark._jvm
    stores = jvm.org.apache.spark.sql.execution.streaming.state
    upkeep = getattr(getattr(stores, "StateStore$"), "MODULE$")
    upkeep.stopMaintenanceTaskWithoutLock()
    stream.spark = stream.spark.newSession()
    for name, value in UPKEEP.items():
        stream.spark.conf.set(name, value)
    yield stream
    for query in stream.spark.streams.active:
        query.stop()
    upkeep.stopMaintenanceTaskWithoutLock()


def run_plain(stream: Stream, *, fails_without: str | None = None) -> None:
    """Count by Spark alone; fail in a batch when its state is written and an older file is gone."""
    state = stream.root / "plain/state/0/0"

    def write(batch: DataFrame, number: int) -> None:
        batch.collect()
        if fails_without is not None and number == FAILS_AT:
            assert list(state.glob(f"{number + 1}.*")), sorted(state.iterdir())
            assert wait_until(lambda: not (state / fails_without).exists(), seconds=60)
            raise RuntimeError("the sink is away")

    counts = stream.source.groupBy("value").count().writeStream.foreachBatch(write)
    counts = counts.outputMode("update").trigger(availableNow=True)
    query = counts.option("checkpointLocation", str(stream.root / "plain")).start()
    query.awaitTermination()


def fail(stream: Stream, provider: str, *, retained: int, fails_without: str) -> None:
    stream.spark.conf.set(f"{STORE}.providerClass", provider)
    stream.spark.conf.set(RETENTION, str(retained))
    with pytest.raises(StreamingQueryException, match="the sink is away"):
        run_plain(stream, fails_without=fails_without)


def test_with_one_version_in_rocksdb_a_batch_that_failed_never_runs_again(settled: Stream) -> None:
    fail(settled, ROCKSDB, retained=1, fails_without="2.zip")
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="CANNOT_LOAD_STATE_STORE"):
            run_plain(settled)


@pytest.mark.parametrize(
    ("provider", "retained", "gone"),
    [(ROCKSDB, 2, "1.zip"), (HDFS, 1, "1.delta")],
    ids=["rocksdb-2", "hdfs-1"],
)
def test_with_two_it_does_and_the_other_provider_keeps_one_more(
    settled: Stream, provider: str, *, retained: int, gone: str
) -> None:
    fail(settled, provider, retained=retained, fails_without=gone)
    run_plain(settled)


@pytest.mark.parametrize(
    ("provider", "retained", "is_said"),
    [(ROCKSDB, 1, True), (ROCKSDB, 2, False), (HDFS, 1, False)],
    ids=["rocksdb-1", "rocksdb-2", "hdfs-1"],
)
def test_a_stream_that_keeps_too_little_is_warned_of_it(
    settled: Stream,
    caplog: pytest.LogCaptureFixture,
    *,
    provider: str,
    retained: int,
    is_said: bool,
) -> None:
    settled.spark.conf.set(f"{STORE}.providerClass", provider)
    settled.spark.conf.set(RETENTION, str(retained))
    df = settled.source.groupBy("value").count().select("value")
    with caplog.at_level(logging.WARNING, "holdfast"):
        settled.run(df=df, outputMode="update")
    assert (RETENTION in caplog.text) == is_said
