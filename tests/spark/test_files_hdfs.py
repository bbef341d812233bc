"""The files sink on a real HDFS: its protocol, the contract of sinks, and what readers see.

The drivers of the protocol are killed and paused before changes that they make. Their rows need no
Spark to compute them; the changes go through the session's own client. `HOLDFAST_ALL=1` runs all.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.sinks.files.failures import FilesRefusedError
from holdfast.sinks.files.sink import Files
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.classic.hadoop_mover import HadoopMover
from holdfast.storage.location import parse_location
from holdfast.storage.moving import Mover
from holdfast.storage.open import open_reader
from holdfast.testing.sink_contract import SinkContract
from lab.hdfs import Hdfs
from tests.mover_contract import MoverContract
from tests.spark.file_stream import wait_until_given_up
from tests.spark.files_read import rows_read
from tests.spark.restarts import add_file
from tests.unit.sinks.files_on_disk import Lake
from tests.unit.sinks.files_steps import FilesSteps, Lakes, Steps

pytestmark = pytest.mark.sampled(6)
EVERY = 3
"""One change of so many, from one that the seed chooses on."""


class TestMoves(MoverContract):
    @pytest.fixture
    def empty(self, hdfs: Hdfs, spark: SparkSession) -> Mover:
        return HadoopMover(parse_location(f"{hdfs.address}/moves/{uuid.uuid4().hex}"), spark)


class HdfsLake(Lake):
    """On HDFS: changed through a session, and read over HTTP, as by a program without a JVM."""

    def __init__(self, hdfs: Hdfs, spark: SparkSession, home: str) -> None:
        self._home = parse_location(f"{hdfs.address}/{home}")
        self._spark = spark
        self._mover = self.mover()
        self._reader = open_reader(f"{hdfs.web_address}/{home}")
        self._mover.make_directory("")
        self.sink = Files(f"{hdfs.address}/{home}/readings", format="json")

    def mover(self) -> Mover:
        return HadoopMover(self._home, self._spark)

    def write_file(self, where: str, name: str, text: str) -> None:
        below = parse_location(where).path.removeprefix(f"{self._home.path}/")
        self._mover.put(f"{below}/{name}", text.encode())

    def texts(self) -> Iterable[str]:
        found = [each.path for each in self._reader.walk("readings")]
        for path in sorted(each for each in found if each.endswith(".json")):
            yield (self._reader.read(path) or b"").decode()

    def beside(self) -> Iterable[str]:
        hidden = ".readings.holdfast"
        for stream in self._reader.list(hidden).directories:
            for kind in self._reader.list(f"{hidden}/{stream}").directories:
                listing = self._reader.list(f"{hidden}/{stream}/{kind}")
                for name in (*listing.directories, *(each.path for each in listing.files)):
                    yield f"{stream}/{kind}/{name}"


class TestContract(SinkContract):
    @pytest.fixture
    def sink(self, hdfs: Hdfs) -> SinkSpec:
        return Files(f"{hdfs.address}/contract/{uuid.uuid4().hex}/readings")

    def rows(self, sink: Any, spark: Any) -> list[tuple[Any, ...]]:
        return rows_read(sink, spark, "id bigint, name string")


class TestSteps(FilesSteps):
    @pytest.fixture
    def lakes(self, hdfs: Hdfs, spark: SparkSession) -> Lakes:
        place = f"lakes/{uuid.uuid4().hex}"
        return lambda name: HdfsLake(hdfs, spark, f"{place}/{name}")

    @pytest.fixture
    def steps(self, seed: int) -> Steps:
        def drawn() -> Iterator[int]:
            return count(random.Random(seed).randrange(EVERY), EVERY)

        return drawn


@dataclass(frozen=True, slots=True)
class Stream:
    """A guarded stream from files on a disk into files on HDFS; so is its root."""

    spark: SparkSession
    home: Path
    lake: str
    mover: Mover

    @property
    def root(self) -> str:
        return f"{self.lake}/streams"

    def run(self, *rows: str) -> None:
        """Run it over one more file of input."""
        files = self.home / "files"
        files.mkdir(exist_ok=True)
        add_file(files, len(list(files.iterdir())), *rows)
        lines = self.spark.readStream.format("text").load(str(files))
        query = hf.start(
            lines.selectExpr("value AS name", "value AS part"),
            stream="readings",
            into=hf.Files(f"{self.lake}/readings", partition_by=["part"]),
            root=self.root,
            trigger={"availableNow": True},
        )
        try:
            query.awaitTermination()
        finally:
            wait_until_given_up()

    def apply(self, plan: Any) -> str:
        assert isinstance(plan, hf.Plan), plan
        return hf.apply_plan(plan, allow=plan.words, spark=self.spark)

    def rows(self) -> Counter[str]:
        read = self.spark.read.schema("name string, part string, hf_batch string")
        return Counter(each.name for each in read.parquet(f"{self.lake}/readings").collect())

    def batch(self, number: int) -> str:
        return f"readings/hf_batch=readings.1.{number:09d}"


@pytest.fixture
def stream(spark: SparkSession, hdfs: Hdfs, tmp_path: Path) -> Stream:
    lake = f"{hdfs.address}/streams/{uuid.uuid4().hex}"
    session = spark.newSession()
    return Stream(session, tmp_path, lake, HadoopMover(parse_location(lake), session))


def test_readers_of_spark_see_every_batch_however_they_look(stream: Stream) -> None:
    stream.run("a:b", "ü", "x%y=z")
    stream.run("a:b", " ")
    expected = Counter(["a:b", "ü", "x%y=z", "a:b", " "])
    top = f"{stream.lake}/readings"
    read = stream.spark.read.schema("name string, part string, hf_batch string")
    for rows in (
        read.parquet(top),
        read.option("basePath", top).parquet(f"{top}/*/*/*.parquet"),
        read.option("basePath", top).parquet(f"{top}/hf_batch=*"),
    ):
        found = rows.select("name", "part").collect()
        assert Counter(each.name for each in found) == expected
        assert all(each.name == each.part for each in found)
    plain = stream.spark.read.option("recursiveFileLookup", "true").parquet(top)
    assert Counter(each.name for each in plain.collect()) == expected
    assert not [*stream.mover.list(".readings.holdfast/readings/staging").directories]


def test_what_is_missing_refuses_the_start(stream: Stream) -> None:
    for row in "abc":
        stream.run(row)
    kept = f"{stream.batch(2)}.kept"
    assert stream.mover.move(stream.batch(2), kept)
    with pytest.raises(hf.StartRefusedError):
        stream.run("d")
    assert stream.mover.move(kept, stream.batch(2))
    file = next(
        each.path for each in stream.mover.walk(stream.batch(2)) if each.path.endswith(".parquet")
    )
    assert stream.mover.move(file, "kept.parquet")
    with pytest.raises(hf.StartRefusedError, match="has lost the file"):
        stream.run("e")
    assert stream.mover.move("kept.parquet", file)
    assert stream.mover.move(".readings.holdfast", "ledger")
    with pytest.raises(FilesRefusedError, match="is gone"):
        stream.run("f")
    assert stream.mover.move("ledger", ".readings.holdfast")
    stream.run("g")
    assert stream.rows() == Counter("abcdefg")


@dataclass(frozen=True, slots=True)
class OnTwoStores(Stream):
    """The same with a root on a disk, which plans open without a session."""

    @property
    def root(self) -> str:
        return str(self.home / "streams")


@pytest.fixture
def planned(stream: Stream) -> Stream:
    found = OnTwoStores(stream.spark, stream.home, stream.lake, stream.mover)
    for row in "abc":
        found.run(row)
    return found


def test_a_reset_takes_batches_away_and_its_undo_puts_them_back(planned: Stream) -> None:
    plan = hf.plan_reset("readings", root=planned.root, start="earliest", output="truncate")
    journal = planned.apply(plan)
    assert not planned.rows()
    planned.apply(hf.plan_undo(journal, spark=planned.spark))
    assert planned.rows() == Counter("abc")
    planned.run("d")
    assert planned.rows() == Counter("abcd")


def test_a_rewind_takes_the_batches_after_it_away(planned: Stream) -> None:
    planned.apply(hf.plan_rewind("readings", root=planned.root, to_batch=0))
    assert planned.rows() == Counter("a")
    planned.run("d")
    assert planned.rows() == Counter("abcd")
