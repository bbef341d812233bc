"""A stream into a directory on a disk and the commands about it: `prove`, `plan` and `undo`.

What the directory holds is read by programs that know nothing of Holdfast.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from tests import calling
from tests.spark.file_stream import wait_until_given_up
from tests.spark.restarts import add_file

pytestmark = pytest.mark.sampled(2)

MODULE = """
import os

import holdfast as hf

lake = hf.Pipeline("lake", root="{place}/streams")


@lake.stream("readings", into=hf.Files("{place}/lake/" + os.environ["OUT"]))
def readings(spark):
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
    return lines.load("{place}/in").selectExpr("cast(value as bigint) as id", "value as name")
"""
ALLOWED = ("--allow", "destructive:readings")
ROWS = 2
"""Of one file, which is one batch."""
Call = Callable[..., str]
Row = tuple[int, str]
SCHEMA = pyarrow.schema([("id", pyarrow.int64()), ("name", pyarrow.string())])


@dataclass
class Lake:
    """The stream, its input, and the directory that its code names."""

    spark: SparkSession
    place: Path
    patch: pytest.MonkeyPatch
    out: str = ""

    @property
    def root(self) -> str:
        return f"{self.place}/streams"

    def name(self, directory: str) -> None:
        """Let the code name another directory."""
        self.out = directory
        self.patch.setenv("OUT", directory)
        sys.modules.pop("lake", None)

    def add(self, number: int) -> None:
        add_file(self.place / "in", number, str(ROWS * number), str(ROWS * number + 1))

    def run(self) -> None:
        """Run the stream over all there is, as its code is now."""
        started = import_module("lake").lake.start(self.spark, trigger={"availableNow": True})
        started["readings"].awaitTermination()
        wait_until_given_up()

    @property
    def directory(self) -> Path:
        return self.place / "lake" / self.out

    def holds(self, expected: Counter[Row]) -> None:
        """See that each reader finds these rows, each as often, and no others."""
        found = pyarrow.dataset.dataset(self.directory, schema=SCHEMA, format="parquet")
        assert Counter(zip(*found.to_table().to_pydict().values(), strict=True)) == expected
        read = self.spark.read.schema("id bigint, name string")
        for rows in (
            read.parquet(str(self.directory)),
            read.option("recursiveFileLookup", "true").parquet(str(self.directory)),
            *([read.parquet(f"{self.directory}/*/*.parquet")] if expected else []),
        ):
            assert Counter((each.id, each.name) for each in rows.collect()) == expected

    def record(self) -> dict[str, bytes]:
        """Return every file of the root and of the directory, and what is beside it."""
        files = [each for each in self.place.glob("*/**/*") if each.is_file()]
        return {str(each): each.read_bytes() for each in files if "/leases/" not in str(each)}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    """The stream, after three batches."""
    (tmp_path / "in").mkdir()
    text = MODULE.format(place=tmp_path)
    with calling.importable(tmp_path, monkeypatch, name="lake", text=text):
        found = Lake(spark, tmp_path, monkeypatch)
        found.name("readings")
        for number in range(3):
            found.add(number)
        found.run()
        found.holds(first(3))
        yield found


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def call_it(*arguments: str, ends: ExitCode = ExitCode.DONE) -> str:
        code, out, err = calling.call(capsys, *arguments)
        assert code == ends, (arguments, out, err)
        return out

    return call_it


def first(batches: int) -> Counter[Row]:
    """Return the rows of the first batches."""
    return Counter((each, str(each)) for each in range(ROWS * batches))


def journal_of(printed: str) -> str:
    """Return the directory that `apply` names for the undo."""
    return printed.partition("Undo: holdfast undo ")[2].split()[0]


def test_a_reset_is_applied_taken_back_and_applied_again(lake: Lake, call: Call) -> None:
    plan = f"{lake.place}/plan.json"
    reset = ("plan", "reset", "readings", "--root", lake.root, "--from", "earliest")
    call(*reset, "--output", "truncate", "-o", plan)
    before = lake.record()
    call("apply", plan, *ALLOWED)  # rehearsed: nothing changes
    assert lake.record() == before
    journal = journal_of(call("apply", plan, "--execute", *ALLOWED))
    lake.holds(first(0))
    lake.run()  # generation 2 writes batches of the same numbers
    lake.holds(first(3))
    call("undo", journal, "--execute", *ALLOWED)
    lake.holds(first(3))
    lake.add(3)
    lake.run()
    lake.holds(first(4))
    call(*reset, "--output", "truncate", "-o", f"{plan}.2")
    call("apply", f"{plan}.2", "--execute", *ALLOWED)
    lake.holds(first(0))
    lake.run()
    lake.holds(first(4))
    assert "exact  8 rows" in call("prove", "lake:lake")


def test_a_reset_from_here_keeps_the_batches(lake: Lake, call: Call) -> None:
    plan = f"{lake.place}/plan.json"
    reset = ("plan", "reset", "readings", "--root", lake.root, "--from", "here")
    call(*reset, "--output", "keep-from-here", "-o", plan)
    journal = journal_of(call("apply", plan, "--execute"))
    lake.add(3)
    lake.run()
    lake.holds(first(4))
    assert "exact  8 rows" in call("prove", "lake:lake")
    call("undo", journal, "--execute", *ALLOWED)  # what generation 2 wrote is taken away
    lake.holds(first(3))
    lake.add(4)
    lake.run()
    lake.holds(first(5))
    assert "exact  10 rows" in call("prove", "lake:lake")


def test_a_new_directory_gets_every_row_and_the_old_one_keeps_its_own(
    lake: Lake, call: Call
) -> None:
    plan = f"{lake.place}/plan.json"
    reset = ("plan", "reset", "readings", "--root", lake.root, "--from", "earliest")
    call(*reset, "--output", "new-table", "-o", plan)
    journal = journal_of(call("apply", plan, "--execute"))
    with pytest.raises(hf.PipelineStartError, match="HF607"):
        lake.run()  # the code still names the old directory
    lake.name("corrected")
    lake.add(3)
    lake.run()
    lake.holds(first(4))
    assert "exact  8 rows" in call("prove", "lake:lake")
    call("undo", journal, "--execute")
    lake.name("readings")
    lake.holds(first(3))
    lake.run()
    lake.holds(first(4))


def test_a_rewind_is_applied_taken_back_and_applied_again(lake: Lake, call: Call) -> None:
    plan = f"{lake.place}/plan.json"
    rewind = ("plan", "rewind", "readings", "--root", lake.root, "--to-batch")
    call(*rewind, "0", "-o", plan)
    journal = journal_of(call("apply", plan, "--execute", *ALLOWED))
    lake.holds(first(1))
    call("undo", journal, "--execute", *ALLOWED)
    lake.holds(first(3))
    for number in (3, 4):
        lake.add(number)
    lake.run()
    lake.holds(first(5))
    # Batch 0 is of a generation before the one that the undo has opened.
    assert "no version of batch 0" in call(*rewind, "0", ends=ExitCode.REFUSED)
    call(*rewind, "3", "-o", f"{plan}.2")
    call("apply", f"{plan}.2", "--execute", *ALLOWED)
    lake.holds(first(4))
    lake.run()
    lake.holds(first(5))
    assert "exact  10 rows" in call("prove", "lake:lake")


def test_a_proof_finds_a_file_that_another_program_has_left(lake: Lake, call: Call) -> None:
    assert "exact  6 rows" in call("prove", "lake:lake")
    (file,) = (lake.directory / "hf_batch=readings.1.000000001").glob("*.parquet")
    (file.parent / f"copy-{file.name}").write_bytes(file.read_bytes())
    assert "2 duplicated" in call("prove", "lake:lake", ends=ExitCode.FOUND)
