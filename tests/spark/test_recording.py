"""`hf.record_queries` on real Spark: the history of plain queries, as they ran."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.formats.event_log.history import EventLogHistory, RunEnding
from holdfast.formats.event_log.read import read_event_log
from holdfast.storage.location import parse_location


def run(spark: SparkSession, home: Path, *, fails: bool = False) -> None:
    def write(rows: DataFrame, _: int) -> None:
        if fails:
            raise ValueError("the table is locked: password=hunter2")
        rows.write.mode("append").parquet(str(home / "out"))

    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(home / "in"))
    query = (
        lines.writeStream.foreachBatch(write)
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def add_file(home: Path, number: int) -> None:
    (home / "in").mkdir(exist_ok=True)
    (home / "in" / f"{number}.txt").write_text(f"row {number}\n")


def history(home: Path) -> EventLogHistory:
    return read_event_log(
        f"{home}/streams/_holdfast/_queries",
        query_id=None,
        checkpoint=parse_location(str(home / "checkpoint")),
    )


def test_starts_batches_and_ends_are_those_of_the_queries(
    spark: SparkSession, tmp_path: Path
) -> None:
    recording = hf.record_queries(spark, root=f"{tmp_path}/streams", every_seconds=0.2)
    assert hf.record_queries(spark, root=f"{tmp_path}/streams") is recording
    for number in range(3):
        add_file(tmp_path, number)
    run(spark, tmp_path)
    add_file(tmp_path, 3)
    with pytest.raises(StreamingQueryException):
        run(spark, tmp_path, fails=True)
    run(spark, tmp_path)
    assert recording.stop()

    found = history(tmp_path)
    metadata = json.loads((tmp_path / "checkpoint/metadata").read_text())
    assert found.query_id == metadata["id"]
    assert [each.ending for each in found.runs] == [
        RunEnding.ENDED,
        RunEnding.FAILED,
        RunEnding.ENDED,
    ]
    assert {each.checkpoint for each in found.runs} == {f"file:{tmp_path}/checkpoint"}
    assert {each.output_mode for each in found.runs} == {"append"}
    assert [each.batch_id for each in found.batches] == [0, 1, 2, 3]
    for batch in found.batches:
        entry = (tmp_path / f"checkpoint/offsets/{batch.batch_id}").read_text().splitlines()
        assert [json.loads(each.end or "") for each in batch.sources] == [json.loads(entry[2])]
    assert not found.missing_batches
    assert not found.unread
    written = b"".join(each.read_bytes() for each in tmp_path.glob("streams/**/events_*"))
    assert b"the table is locked" in written
    assert b"hunter2" not in written
