"""The ways back to plain Spark that the guide to upgrading shows, and the one it warns of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/guides/upgrading.md").read_text()
(BACK,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


class Stream:
    """Files into a Delta table, by Holdfast, by Delta's own sink, or by the program of the page."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home = spark, home
        (home / "in").mkdir()

    def lines(self) -> DataFrame:
        number = len(list((self.home / "in").iterdir()))
        (self.home / f"in/{number}.txt").write_text(f"row {number}\n")
        return self.spark.readStream.text(str(self.home / "in"))

    def run_native(self, checkpoint: str) -> None:
        writer = self.lines().writeStream.format("delta").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.home / checkpoint))
        writer.start(str(self.home / "table")).awaitTermination()

    def run_guarded(self, **options: Any) -> None:
        into, root = hf.Delta(path=str(self.home / "table")), str(self.home / "root")
        given = {"stream": "readings", "into": into, "root": root, **options}
        hf.start(self.lines(), trigger={"availableNow": True}, **given).awaitTermination()

    def run_as_the_page_says(self) -> None:
        program = re.sub(r"^    ", "", BACK, flags=re.MULTILINE)
        program = program.replace(".start()", ".trigger(availableNow=True).start()")
        for name, here in (("lake/readings", "table"), ("/srv/old/checkpoint", "old")):
            program = program.replace(f'"{name}"', repr(str(self.home / here)))
        known: dict[str, Any] = {"readings": self.lines()}
        exec(compile(program, "upgrading.md", "exec"), known)
        known["query"].awaitTermination()

    def rows(self) -> list[str]:
        table = self.spark.read.format("delta").load(str(self.home / "table"))
        return sorted(row.value for row in table.collect())


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark, tmp_path)


def test_a_stream_that_began_guarded_goes_back_to_the_native_sink(stream: Stream) -> None:
    stream.run_guarded()
    stream.run_native("root/readings")
    assert stream.rows() == ["row 0", "row 1"]


def test_an_adopted_stream_loses_rows_in_the_native_sink_and_none_as_the_page_says(
    stream: Stream,
) -> None:
    stream.run_native("old")
    stream.run_guarded(checkpoint=str(stream.home / "old"))
    stream.run_as_the_page_says()
    assert stream.rows() == ["row 0", "row 1", "row 2"]
    stream.run_native("old")
    assert stream.rows() == ["row 0", "row 1", "row 2"], "the page warns of a loss that is none"
