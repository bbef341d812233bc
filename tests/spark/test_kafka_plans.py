"""A stream into Kafka and the commands about it: `prove`, `plan reset`, `plan rewind` and `undo`.

What a topic holds is read by a consumer that waits for transactions and knows nothing of Holdfast.
"""

from __future__ import annotations

import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from holdfast.proof.values import ProofVerdict
from lab import Kafka
from lab.topics import read_topic
from tests import calling
from tests.spark.file_stream import wait_until_given_up
from tests.spark.kafka_writers import Into
from tests.spark.restarts import add_file

pytestmark = pytest.mark.sampled(2)

ROWS = 2
"""Of one file, which is one batch."""
MODULE = """
import os

import holdfast as hf

lake = hf.Pipeline("lake", root="{place}/streams")


@lake.stream("readings", into=hf.Kafka("env:KAFKA_SERVERS", topic=os.environ["TOPIC"]))
def readings(spark):
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
    return lines.load("{place}/in").selectExpr("value AS key", "value")
"""
Call = Callable[..., str]
REPEATS = ("--allow", "repeats-data:readings")
Record = tuple[bytes | None, bytes | None]


@dataclass
class Lake:
    """The stream, its input, and the topic that its code names."""

    spark: SparkSession
    kafka: Kafka
    place: Path
    patch: pytest.MonkeyPatch
    topic: str = ""

    @property
    def root(self) -> str:
        return f"{self.place}/streams"

    @property
    def into(self) -> Into:
        return Into(self.kafka, self.topic)

    def name_topic(self) -> None:
        """Create a topic, and let the code name it."""
        self.topic = f"plans_{uuid.uuid4().hex[:12]}"
        self.kafka.create_topic(self.topic, partitions=2)
        self.name(self.topic)

    def name(self, topic: str) -> None:
        self.topic = topic
        self.patch.setenv("TOPIC", topic)
        sys.modules.pop("lake", None)

    def add(self, number: int) -> None:
        add_file(self.place / "in", number, str(ROWS * number), str(ROWS * number + 1))

    def run(self) -> None:
        """Run the stream over all there is, as its code is now."""
        started = import_module("lake").lake.start(self.spark, trigger={"availableNow": True})
        started["readings"].awaitTermination()
        wait_until_given_up()

    def rows(self) -> Counter[Record]:
        """Return each record that a consumer reads, as often as it reads it."""
        found = read_topic(self.kafka.address, self.topic)
        return Counter((key, value) for _, key, value in found)

    def record(self) -> dict[str, bytes]:
        """Return every file below the root, checkpoints and journals too."""
        files = [each for each in Path(self.root).rglob("*") if each.is_file()]
        return {str(each): each.read_bytes() for each in files if "/leases/" not in str(each)}


@pytest.fixture
def lake(
    *, spark: SparkSession, kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lake]:
    """The stream, after three batches."""
    monkeypatch.setenv("KAFKA_SERVERS", kafka.address)
    (tmp_path / "in").mkdir()
    text = MODULE.format(place=tmp_path)
    with calling.importable(tmp_path, monkeypatch, name="lake", text=text):
        found = Lake(spark, kafka, tmp_path, monkeypatch)
        found.name_topic()
        for number in range(3):
            found.add(number)
        found.run()
        assert found.rows() == first(3)
        yield found


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def call_it(*arguments: str, ends: ExitCode = ExitCode.DONE) -> str:
        code, out, err = calling.call(capsys, *arguments)
        assert code == ends, (arguments, out, err)
        return out

    return call_it


def first(batches: int, *again: int) -> Counter[Record]:
    """Return the records of the first batches, and once more those of some of them."""
    numbers = [*range(batches), *again]
    ids = (ROWS * number + each for number in numbers for each in range(ROWS))
    return Counter((str(each).encode(),) * 2 for each in ids)


def journal_of(printed: str) -> str:
    """Return the directory that `apply` names for the undo."""
    return printed.partition("Undo: holdfast undo ")[2].split()[0]


def test_a_reset_from_here_goes_on_in_the_topic_and_is_taken_back(lake: Lake, call: Call) -> None:
    making = ("plan", "reset", "readings", "--root", lake.root, "--from", "here", "--output")
    call(*making, "keep-from-here", "-o", f"{lake.place}/1.json")
    call("apply", f"{lake.place}/1.json")  # rehearsed: nothing changes
    printed = call("apply", f"{lake.place}/1.json", "--execute")
    assert "Next: holdfast prove MODULE:PIPELINE" in printed
    call("undo", journal_of(printed), "--execute")
    lake.add(3)
    lake.run()
    assert lake.rows() == first(4)
    call(*making, "keep-from-here", "-o", f"{lake.place}/2.json")
    journal = journal_of(call("apply", f"{lake.place}/2.json", "--execute"))
    lake.add(4)
    lake.run()
    assert lake.rows() == first(5)
    assert "exact  10 rows" in call("prove", "lake:lake")
    before = lake.record()
    assert "cannot be taken back" in call("undo", journal, "--execute", ends=ExitCode.REFUSED)
    assert lake.record() == before
    lake.add(5)
    lake.run()
    assert lake.rows() == first(6)


def test_records_are_not_taken_out_of_a_topic(lake: Lake, call: Call) -> None:
    before = lake.record()
    reset = ("plan", "reset", "readings", "--root", lake.root, "--from", "earliest")
    refused = call(*reset, "--output", "truncate", ends=ExitCode.REFUSED)
    assert "cannot be taken back: consumers may have read them" in refused
    assert "--output new-table" in refused
    rewind = ("plan", "rewind", "readings", "--root", lake.root, "--to-batch", "1")
    assert "has no version of batch 1" in call(*rewind, ends=ExitCode.REFUSED)
    replay = ("plan", "replay", "readings", "--root", lake.root, "--batches", "2")
    assert "has no version of batch 0" in call(*replay, ends=ExitCode.REFUSED)
    assert lake.record() == before
    lake.add(3)
    lake.run()
    assert lake.rows() == first(4)


def test_a_new_topic_gets_every_record_and_the_old_one_keeps_its_own(
    lake: Lake, call: Call
) -> None:
    old, plan = lake.topic, f"{lake.place}/plan.json"
    reset = ("plan", "reset", "readings", "--root", lake.root, "--from", "earliest")
    call(*reset, "--output", "new-table", "-o", plan)
    journal = journal_of(call("apply", plan, "--execute"))
    with pytest.raises(hf.PipelineStartError, match="HF607"):
        lake.run()  # the code still names the old topic
    lake.name_topic()
    lake.add(3)
    lake.run()
    assert lake.rows() == first(4)
    assert "exact  8 rows" in call("prove", "lake:lake")
    call("undo", journal, "--execute")
    lake.name(old)
    lake.run()
    assert lake.rows() == first(4)
    assert "exact  8 rows" in call("prove", "lake:lake")


def test_a_rewind_that_keeps_the_records_writes_later_batches_again(lake: Lake, call: Call) -> None:
    plan = f"{lake.place}/plan.json"
    rewind = ("plan", "rewind", "readings", "--root", lake.root, "--to-batch", "1")
    call(*rewind, "--output", "keep", "-o", plan)
    call("apply", plan, "--execute", ends=ExitCode.REFUSED)  # repeating is not allowed
    assert lake.rows() == first(3)
    call("apply", plan, "--execute", *REPEATS)
    lake.add(3)
    lake.run()
    assert lake.rows() == first(4, 2)
    assert "2 duplicated" in call("prove", "lake:lake", ends=ExitCode.FOUND)


def test_a_proof_finds_a_record_that_another_producer_has_written(lake: Lake, call: Call) -> None:
    assert "exact  6 rows" in call("prove", "lake:lake")
    lake.kafka.produce(lake.topic, [(0, b"4", b"4", 0)])
    found = call("prove", "lake:lake", ends=ExitCode.FOUND)  # no batch has come since
    assert "duplicated: key=4, value=4  (2 times, must be 1)" in found
    assert "--output new-table" in found
    lake.add(3)
    lake.run()
    assert lake.rows() == first(4) + Counter([(b"4", b"4")])
    found = call("prove", "lake:lake", ends=ExitCode.FOUND)
    assert "0 lost, 1 duplicated, 0 altered" in found


def test_a_ledger_topic_that_was_deleted_refuses_the_start(lake: Lake, call: Call) -> None:
    before, reset = lake.record(), ("plan", "reset", "readings", "--root", lake.root, "--from")
    lake.into.delete(lake.into.ledger_topic)
    with pytest.raises(hf.PipelineStartError, match="HF601"):
        lake.run()
    assert "no row" in call("prove", "lake:lake", ends=ExitCode.NOT_JUDGED)
    assert "--output new-table" in call(
        *reset, "earliest", "--output", "truncate", ends=ExitCode.REFUSED
    )
    assert lake.record() == before
    assert lake.rows() == first(3)
    plan = f"{lake.place}/plan.json"
    call(*reset, "here", "--output", "keep-from-here", "-o", plan)
    call("apply", plan, "--execute")
    lake.add(3)
    lake.run()
    assert lake.rows() == first(4)
    assert "exact  8 rows" in call("prove", "lake:lake")


def test_what_sparks_own_sink_wrote_is_part_of_an_adopted_stream(lake: Lake) -> None:
    lake.name_topic()
    plain, into = f"{lake.place}/plain", hf.Kafka("env:KAFKA_SERVERS", topic=lake.topic)
    build = import_module("lake").readings
    writer = build(lake.spark).writeStream.format("kafka").trigger(availableNow=True)
    writer = writer.option("kafka.bootstrap.servers", lake.kafka.address)
    writer.options(topic=lake.topic, checkpointLocation=plain).start().awaitTermination()
    adopting = hf.Pipeline("adopting", root=f"{lake.place}/adopting")
    adopting.stream("adopted", into=into, checkpoint=plain)(build)
    with pytest.raises(hf.PipelineStartError) as started:
        adopting.start(lake.spark)
    refused = started.value.errors["adopted"]
    assert isinstance(refused, hf.StartRefusedError)
    lake.patch.setenv("HOLDFAST_ACCEPT", f"HF610:{refused.nonces['HF610']}")
    lake.add(3)
    adopting.start(lake.spark, trigger={"availableNow": True})["adopted"].awaitTermination()
    wait_until_given_up()
    assert lake.rows() == first(4)
    assert adopting.prove(lake.spark).verdict is ProofVerdict.EXACT
