"""Spark's own sinks under the guard: killed, restarted, replaced, and refused by what they hold."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast import clock
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.record import take_lease, this_process
from holdfast.storage.write import open_writer
from holdfast.streams.native_outputs import OutputMissingError
from tests.spark.file_stream import wait_until_given_up
from tests.spark.restarts import add_file

pytestmark = pytest.mark.sampled(6)


@dataclass(frozen=True)
class NativeStream:
    """One stream of text files into one of Spark's own sinks."""

    spark: SparkSession
    home: Path
    format: str

    @property
    def checkpoint(self) -> Path:
        return self.home / "streams/readings"

    @property
    def output(self) -> Path:
        return self.home / "output"

    def add(self, number: int) -> None:
        (self.home / "in").mkdir(exist_ok=True)
        add_file(self.home / "in", number, f"row {number}")

    def source(self) -> DataFrame:
        reader = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self.home / "in"))

    def sink(self) -> hf.Native:
        place = None if self.format == "noop" else str(self.output)
        return hf.Native(self.format, path=place)

    def start(self, **more: Any) -> Any:
        given = {"into": self.sink(), "trigger": {"availableNow": True}, **more}
        root = str(self.home / "streams")
        return hf.start(self.source(), stream="readings", root=root, **given)

    def run(self, **more: Any) -> None:
        try:
            self.start(**more).awaitTermination()
        finally:
            wait_until_given_up()

    def rows(self) -> Counter[str]:
        """Return the rows by a reader that knows nothing of Spark or Holdfast."""
        if self.format == "delta":
            found = [row for (row,) in DeltaTable(open_writer(str(self.output))).read().rows]
            return Counter(map(str, found))
        log = self.output / "_spark_metadata"
        entries = [
            json.loads(line)
            for path in log.iterdir()
            if path.name.isdecimal()
            for line in path.read_text().splitlines()[1:]
        ]
        files = [self.output / each["path"].rpartition("/")[2] for each in entries]
        return Counter(line for each in files for line in each.read_text().splitlines())

    def forget(self, batch: int) -> None:
        """Leave the checkpoint as a kill between the sink and `commits` leaves it."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self.checkpoint / "commits" / name).unlink(missing_ok=True)


Make = Callable[[str], NativeStream]


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path) -> Make:
    return lambda kind: NativeStream(spark.newSession(), tmp_path, kind)


def expected(number: int) -> Counter[str]:
    return Counter(f"row {each}" for each in range(number))


@pytest.mark.parametrize("kind", ["delta", "text"])
def test_a_batch_that_the_sink_has_is_not_written_again(make: Make, kind: str) -> None:
    stream = make(kind)
    for number in range(3):
        stream.add(number)
    stream.run()
    stream.forget(2)
    stream.add(3)
    stream.run()
    assert stream.rows() == expected(4)


@pytest.mark.parametrize(("kind", "code"), [("delta", "HF707"), ("text", "HF722")])
def test_a_checkpoint_that_was_replaced_is_refused_by_what_the_sink_holds(
    make: Make, kind: str, code: str
) -> None:
    stream = make(kind)
    stream.add(0)
    stream.run()
    shutil.rmtree(stream.checkpoint)
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run()
    assert code in [each.code for each in refused.value.findings]
    assert stream.rows() == expected(1)
    assert not stream.checkpoint.exists()


@pytest.mark.parametrize(("kind", "code"), [("delta", "HF702"), ("text", "HF721")])
def test_an_old_copy_of_the_checkpoint_is_refused(make: Make, kind: str, code: str) -> None:
    stream = make(kind)
    stream.add(0)
    stream.run()
    shutil.copytree(stream.checkpoint, stream.home / "copy")
    for number in (1, 2):
        stream.add(number)
        stream.run()
    shutil.rmtree(stream.checkpoint)
    (stream.home / "copy").rename(stream.checkpoint)
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run()
    assert code in [each.code for each in refused.value.findings]
    assert stream.rows() == expected(3)


@pytest.mark.parametrize("kind", ["delta", "text"])
def test_an_output_that_is_gone_refuses_the_start(make: Make, kind: str) -> None:
    stream = make(kind)
    stream.add(0)
    stream.run()
    shutil.rmtree(stream.output)
    with pytest.raises(OutputMissingError):
        stream.run()
    assert not stream.output.exists()


def test_what_is_not_guaranteed_is_said_and_the_run_is_written_down(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    stream = make("noop")
    stream.add(0)
    stream.add(1)
    with caplog.at_level(logging.WARNING, "holdfast"):
        stream.run()
    assert "Spark's own noop sink is not exactly-once: the rows are kept nowhere" in caplog.text
    (run,) = (stream.home / "streams/_holdfast/readings/runs").glob("*.json")
    told = json.loads(run.read_text())
    assert (told["ended"], told["last_batch"]) == ("finished", 1)


def test_a_query_whose_lease_was_taken_is_stopped(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a pause past its lease: nothing fences the sink, so the query must end."""
    stream = make("delta")
    stream.add(0)
    query = stream.start(trigger={"processingTime": "0 seconds"})
    query.processAllAvailable()
    take_lease(
        open_writer(str(stream.home / "streams/_holdfast/readings")), this_process(), takeover=True
    )
    now = clock.monotonic()
    monkeypatch.setattr(clock, "monotonic", lambda: now + 60)
    with pytest.raises(hf.LeaseLostError):
        query.awaitTermination(60)
    stream.add(1)
    assert stream.rows() == expected(1)


def test_it_is_the_only_sink_of_its_stream(make: Make) -> None:
    stream = make("delta")
    stream.add(0)
    both = [hf.Native("noop"), hf.Delta(path=str(stream.output))]
    with pytest.raises(hf.ConfigError, match="must be the only sink"):
        stream.start(into=both)


def test_a_continuous_trigger_is_refused_before_anything_is_written(make: Make) -> None:
    stream = make("noop")
    stream.add(0)
    given: dict[str, Any] = {
        "stream": "readings",
        "into": stream.sink(),
        "root": str(stream.home / "streams"),
    }
    writer = stream.source().writeStream.trigger(continuous="1 second")
    with pytest.raises(hf.ConfigError, match="has no micro-batches"):
        hf.guard(writer, **given)
    with pytest.raises(hf.ConfigError, match="has no micro-batches"):
        stream.start(trigger={"continuous": "1 second"})
    assert not (stream.home / "streams").exists()
