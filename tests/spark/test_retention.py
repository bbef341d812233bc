"""How many versions of its state a query must keep, so that a batch that failed can run again."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from holdfast.drills.kill.waiting import wait_until
from holdfast.drills.known.cells import STATES
from holdfast.streams.start import RETENTION
from tests.spark.file_stream import Stream

UPKEEP = {
    "spark.sql.streaming.stateStore.maintenanceInterval": "100ms",
    **STATES["rocksdb"],
}
FAILS_AT = 2


@pytest.fixture
def settled(stream: Stream) -> Iterator[Stream]:
    """A stream whose session does its upkeep all the time."""
    stream.spark = stream.spark.newSession()
    for name, value in UPKEEP.items():
        stream.spark.conf.set(name, value)
    yield stream
    for query in stream.spark.streams.active:
        query.stop()


def run_plain(stream: Stream, *, fails_when_gone: int | None = None) -> None:
    """Count by Spark alone; fail in a batch whose state is written, when an older one is gone."""
    state = stream.root / "plain/state/0/0"

    def write(batch: DataFrame, number: int) -> None:
        batch.collect()
        if fails_when_gone is not None and number == FAILS_AT:
            assert (state / f"{number + 1}.zip").exists(), sorted(state.iterdir())
            assert wait_until(lambda: not (state / f"{fails_when_gone}.zip").exists(), seconds=60)
            raise RuntimeError("the sink is away")

    counts = stream.source.groupBy("value").count().writeStream.foreachBatch(write)
    counts = counts.outputMode("update").trigger(availableNow=True)
    query = counts.option("checkpointLocation", str(stream.root / "plain")).start()
    query.awaitTermination()


@pytest.mark.parametrize(("retained", "gone"), [(1, 2), (2, 1)])
def test_with_one_version_a_batch_that_failed_never_runs_again(
    settled: Stream, retained: int, gone: int
) -> None:
    settled.spark.conf.set(RETENTION, str(retained))
    with pytest.raises(StreamingQueryException, match="the sink is away"):
        run_plain(settled, fails_when_gone=gone)
    if retained > 1:
        run_plain(settled)
        return
    for _ in range(2):
        with pytest.raises(StreamingQueryException, match="CANNOT_LOAD_STATE_STORE"):
            run_plain(settled)


@pytest.mark.parametrize(("retained", "is_said"), [(1, True), (2, False)])
def test_a_stream_with_state_that_keeps_one_version_is_warned_of_it(
    settled: Stream, caplog: pytest.LogCaptureFixture, *, retained: int, is_said: bool
) -> None:
    settled.spark.conf.set(RETENTION, str(retained))
    df = settled.source.groupBy("value").count().select("value")
    with caplog.at_level(logging.WARNING, "holdfast"):
        settled.run(df=df, outputMode="update")
    assert (RETENTION in caplog.text) == is_said
