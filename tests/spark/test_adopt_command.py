"""`holdfast adopt` on streams that really ran: its diff is applied, and its predictions come true.

Each program runs plainly, is left with a pending batch, is changed by the printed diff and nothing
else, and runs again. The guarded start must do what was predicted, and the table must be exact.
"""

from __future__ import annotations

import json
import os
import runpy
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from holdfast import events
from holdfast.events.starts import Announced
from holdfast.streams.refusal import StartRefusedError
from lab import Kafka, Postgres
from tests import calling
from tests.spark.file_stream import Stream, remove, wait_until_given_up
from tests.unit.adoption.changing import apply

HOUR_S = 3_600
KAFKA_TO_DELTA = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", {servers!r})
    .option("subscribe", {topic!r})
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 2)
    .load()
)
query = (
    orders.selectExpr("string(value)")
    .writeStream.format("delta")
    .queryName("orders")
    .option("checkpointLocation", "{home}/old/checkpoint")
    .trigger(availableNow=True)
    .start("{home}/lake/orders")
)
query.awaitTermination()
"""
FILES_TO_DELTA = """\
import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

HOME = "{home}"


def main():
    spark = SparkSession.builder.getOrCreate()
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(f"{{HOME}}/in")
    if "JOB_FAILS" in os.environ:
        lines = lines.select(F.raise_error(F.lit("the disk is full")).cast("string").alias("value"))
    return (
        lines.writeStream.format("delta")
        .option("checkpointLocation", f"{{HOME}}/old/lines")
        .trigger(availableNow=True)
        .start(f"{{HOME}}/lake/lines")
    )


main().awaitTermination()
"""
FILES_TO_POSTGRES = """\
import os

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
readings = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load("{home}/in")


def save(batch, batch_id):
    print("batch", batch_id)
    batch.write.jdbc(os.environ["READINGS_URL"], "readings", mode="append")


query = (
    readings.writeStream.foreachBatch(save)
    .option("checkpointLocation", "{home}/old/readings")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
"""


@dataclass
class Job:
    """A program in a directory of its own."""

    home: Path
    capsys: pytest.CaptureFixture[str]
    said: list[str] = field(default_factory=list)
    """What each guarded start says that it does."""

    def write(self, text: str, **given: str) -> None:
        (self.home / "job.py").write_text(text.format(home=self.home, **given))

    def run(self) -> None:
        """Run the program, and hear what a guarded start in it says."""
        try:
            with self._hearing():
                runpy.run_path(str(self.home / "job.py"))
        finally:
            wait_until_given_up()

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        def hear(event: events.Event) -> None:
            if isinstance(event, Announced):
                self.said.append(event.doing)

        stop = events.listen(hear)
        try:
            yield
        finally:
            stop()

    def adopt(self, checkpoint: Path, *more: str) -> dict[str, Any]:
        """Return the answer, an hour after the old query has written its last file."""
        then = time.time() - HOUR_S
        for each in checkpoint.rglob("*"):
            os.utime(each, (then, then))
        self.capsys.readouterr()
        given = (str(checkpoint), "--code", "job.py", "--format", "json", *more)
        _, out, _ = calling.call(self.capsys, "adopt", *given)
        found: dict[str, Any] = json.loads(out)
        return found

    def change(self, found: dict[str, Any]) -> None:
        """Apply the printed diff."""
        before = (self.home / "job.py").read_text()
        assert "writeStream" in before
        assert "writeStream" not in apply(self.home, before, found["change"]["diff"])

    def generation(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return the generation that the guarded start has opened, at the root that was named."""
        record = Path(found["root"]["value"]) / "_holdfast" / found["stream"]["value"]
        opened: dict[str, Any] = json.loads((record / "generations/0001.json").read_text())
        return opened


@pytest.fixture
def job(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.chdir(tmp_path)
    return Job(home=tmp_path, capsys=capsys)


def rows_in(spark: SparkSession, table: Path) -> Counter[str]:
    return Counter(row.value for row in spark.read.format("delta").load(str(table)).collect())


def check_generation(job: Job, found: dict[str, Any]) -> None:
    opened = job.generation(found)
    known = (opened["why"], opened["query_id"], opened["first_batch"], opened["checkpoint"])
    assert known == ("adopted", found["query_id"], found["first_batch"], found["checkpoint"])


def test_kafka_to_delta_with_a_batch_that_the_table_holds(
    spark: SparkSession, kafka: Kafka, job: Job
) -> None:
    topic = f"adopt-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, partitions=1)
    kafka.produce(topic, [(0, None, f"order {n}".encode(), 1_700_000_000_000) for n in range(3)])
    job.write(KAFKA_TO_DELTA, servers=kafka.address, topic=topic)
    job.run()
    checkpoint = job.home / "old/checkpoint"
    remove(checkpoint / "commits/1")  # killed after the table's commit, before Spark's
    found = job.adopt(checkpoint, "--probe", "--source", kafka.address)
    assert (found["verdict"], found["asks"], found["not_known"]) == ("adoptable", [], [])
    assert (found["next_batch"], found["pending"]["holding"]) == (1, "held")
    assert found["pending"]["covers"][0].endswith(f"({topic} 0: 2 … 2)")
    assert (found["stream"]["value"], found["fences_old_writer"]) == ("orders", True)
    job.change(found)
    kafka.produce(topic, [(0, None, b"order 3", 1_700_000_000_000)])
    job.run()
    table = job.home / "lake/orders"
    assert job.said == [
        f"resumes at batch 1 (pending, already in the Delta table {table}: will be skipped)"
    ]
    assert rows_in(spark, table) == Counter(f"order {n}" for n in range(4))
    check_generation(job, found)


def test_files_to_delta_with_a_batch_that_failed(
    spark: SparkSession, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.write(FILES_TO_DELTA)
    files = Stream(spark, job.home, job.home / "in", "")
    files.files.mkdir()
    files.add(0)
    job.run()
    files.add(1)
    monkeypatch.setenv("JOB_FAILS", "1")
    with pytest.raises(Exception, match="the disk is full"):
        job.run()
    monkeypatch.delenv("JOB_FAILS")
    found = job.adopt(job.home / "old/lines")
    assert (found["verdict"], found["asks"]) == ("adoptable", [])
    assert (found["next_batch"], found["pending"]["holding"]) == (1, "not-held")
    job.change(found)
    files.add(2)
    job.run()
    assert job.said == ["resumes at batch 1 (pending, not in the sink yet)"]
    assert rows_in(spark, job.home / "lake/lines") == Counter(f"row {n}" for n in range(3))
    check_generation(job, found)


def test_files_to_postgresql_asks_what_was_predicted(
    stream: Stream, job: Job, *, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = stream.dsn.partition("dbname=")[2].split()[0]
    monkeypatch.setenv("READINGS_URL", postgres.jdbc_url(database))
    monkeypatch.setenv("READINGS_DSN", stream.dsn)
    job.write(FILES_TO_POSTGRES)
    job.run()
    remove(job.home / "old/readings/commits/2")
    found = job.adopt(job.home / "old/readings", "--sink", "env:READINGS_DSN#readings")
    assert (found["verdict"], found["next_batch"]) == ("adoptable-after", 2)
    assert (found["pending"]["holding"], found["fences_old_writer"]) == ("not-known", False)
    predicted = [each["code"] for each in found["asks"]]
    job.change(found)
    with pytest.raises(StartRefusedError) as refused:
        job.run()
    assert [each.code for each in refused.value.findings] == predicted
    assert predicted == ["HF610", "HF611", "HF612"]
    assert stream.rows() == ["row 0", "row 1", "row 2"]  # so it is there
    nonces = refused.value.nonces
    monkeypatch.setenv("HOLDFAST_ACCEPT", f"HF610:{nonces['HF610']} HF612:{nonces['HF612']}")
    stream.add(3)
    job.run()
    (said,) = job.said
    assert said.startswith("resumes at batch 2 (pending, already in the PostgreSQL table ")
    assert stream.rows() == [f"row {number}" for number in range(4)]
    check_generation(job, found)
