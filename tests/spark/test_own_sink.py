"""A kind of sink in one file of the tests, with nothing about it in `src`, on real Spark.

It is inspected, guarded, reset, undone, rewound and proved like those that come with Holdfast.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.plan.plan_file import Plan
from holdfast.proof.values import ProofVerdict
from tests.kinds.sqlite_sink import Sqlite, rows_in
from tests.spark.file_stream import wait_until_given_up

TIME = 1_700_000_000


@dataclass(frozen=True)
class Lines:
    """A stream of lines in files into a table of SQLite, one file per batch."""

    spark: SparkSession
    home: Path

    @property
    def sink(self) -> Sqlite:
        return Sqlite(path=str(self.home / "readings.sqlite"))

    @property
    def root(self) -> str:
        return str(self.home / "streams")

    @property
    def pipeline(self) -> hf.Pipeline:
        found = hf.Pipeline("own", root=self.root)

        @found.stream("readings", into=self.sink, trigger={"availableNow": True})
        def readings(spark: Any) -> Any:
            reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
            return reader.load(str(self.home / "in"))

        return found

    def add(self, *numbers: int) -> None:
        for number in numbers:
            path = self.home / f"in/f{number:03}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"row {number}\n")
            os.utime(path, (TIME + number, TIME + number))  # read in this order

    def run(self) -> list[str]:
        """Run it until there is nothing more to read; return the rows that are there then."""
        try:
            self.pipeline.start(self.spark)["readings"].awaitTermination()
        finally:
            wait_until_given_up()
        return self.rows()

    def rows(self) -> list[str]:
        return sorted(value for (value,) in rows_in(self.sink))

    def apply(self, plan: Any) -> str:
        assert isinstance(plan, Plan), plan
        return hf.apply_plan(plan, allow=plan.words)

    def reset(self) -> str:
        found = hf.plan_reset("readings", root=self.root, start="earliest", output="truncate")
        return self.apply(found)

    def prove(self) -> None:
        (proof,) = self.pipeline.prove(self.spark).tables
        assert proof.verdict is ProofVerdict.EXACT, proof


def rows(count: int) -> list[str]:
    return [f"row {number}" for number in range(count)]


@pytest.fixture
def lines(spark: SparkSession, tmp_path: Path) -> Lines:
    found = Lines(spark, tmp_path)
    found.add(0, 1, 2)
    return found


def test_it_starts_again_is_diagnosed_and_proved(lines: Lines) -> None:
    assert lines.run() == rows(3)
    lines.add(3)
    assert lines.run() == rows(4)
    (sink,) = hf.diagnose("readings", root=lines.root).case.stream.sinks  # type: ignore[union-attr]
    assert (sink.row.last_batch, sink.unreadable) == (3, None)  # type: ignore[union-attr]
    lines.prove()


def test_a_reset_empties_it_and_its_undo_gives_the_rows_back(lines: Lines) -> None:
    lines.run()
    journal = lines.reset()
    assert lines.rows() == []
    again = lines.apply(hf.plan_undo(journal))
    assert lines.rows() == rows(3)
    lines.add(3)
    assert lines.run() == rows(4)
    found = hf.plan_undo(again)  # which would take batch 3 away, and the rows that came back
    assert isinstance(found, Plan), found
    lines.apply(found)
    assert lines.rows() == []
    assert lines.run() == rows(4)
    lines.prove()


def test_an_undo_takes_away_what_the_new_generation_wrote(lines: Lines) -> None:
    lines.run()
    journal = lines.reset()
    lines.add(3)
    assert lines.run() == rows(4)
    lines.apply(hf.plan_undo(journal))
    assert lines.rows() == rows(3)
    assert lines.run() == rows(4)
    lines.prove()


def test_a_rewind_puts_it_back_to_a_batch(lines: Lines) -> None:
    lines.run()
    journal = lines.apply(hf.plan_rewind("readings", root=lines.root, to_batch=0))
    assert lines.rows() == rows(1)
    lines.apply(hf.plan_undo(journal))
    assert lines.rows() == rows(3)
    lines.add(3)
    assert lines.run() == rows(4)
    lines.apply(hf.plan_rewind("readings", root=lines.root, to_batch=2))
    assert lines.rows() == rows(3)
    assert lines.run() == rows(4)
    lines.prove()


def test_rows_of_another_writer_are_never_taken_away(lines: Lines) -> None:
    lines.run()
    journal = lines.reset()
    lines.run()
    connection = lines.sink.connect()
    connection.execute("INSERT INTO readings VALUES ('by hand')")
    connection.close()
    found = hf.plan_undo(journal)
    assert not isinstance(found, Plan)
    assert "another writer has changed the table" in found.reason
    found = hf.plan_rewind("readings", root=lines.root, to_batch=0)
    assert not isinstance(found, Plan)
    assert lines.rows() == ["by hand", *rows(3)]
