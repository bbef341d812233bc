"""An undo gives rows back to a Delta table that other streams read: all end exact."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from tests.spark.file_stream import Stream, wait_until_given_up

pytestmark = pytest.mark.sampled(1)

ONCE = {"availableNow": True}


class Lake:
    """Files to raw; raw to a copy that appends, and to one that merges; the first one's copy."""

    def __init__(self, stream: Stream, home: Path) -> None:
        self.files, self.home = stream, home
        self.pipeline = hf.Pipeline("lake", root=str(home / "streams"))
        self.pipeline.stream("to-raw", into=self.sink("raw"))(lambda _: stream.source)
        self.add("to-flat", "raw", self.sink("flat"))
        self.add("to-gold", "raw", self.sink("gold", keys=["value"]))
        self.add("to-last", "flat", self.sink("last"))

    def sink(self, name: str, **more: list[str]) -> hf.Delta:
        return hf.Delta(path=str(self.home / name), **more)  # type: ignore[arg-type]

    def add(self, stream: str, source: str, into: hf.Delta) -> None:
        def read(spark: SparkSession) -> DataFrame:
            return spark.readStream.format("delta").load(str(self.home / source))

        self.pipeline.stream(stream, into=into)(read)

    def run(self) -> None:
        for name in self.pipeline.streams:
            queries = self.pipeline.start(self.files.spark, trigger=ONCE, only=[name])
            queries[name].awaitTermination()
        wait_until_given_up()

    def rows(self) -> dict[str, Counter[str]]:
        read = self.files.spark.read.format("delta")
        tables = {
            name: read.load(str(self.home / name)) for name in ("raw", "flat", "gold", "last")
        }
        return {name: Counter(row.value for row in df.collect()) for name, df in tables.items()}

    def carry_out(self, plan: object) -> str:
        assert isinstance(plan, Plan), plan
        stores = Stores(session=lambda: self.files.spark)
        return apply_plan(plan, stores, allowed=plan.words)


def rows(count: int) -> dict[str, Counter[str]]:
    found = Counter(f"row {number}" for number in range(count))
    return dict.fromkeys(("raw", "flat", "gold", "last"), found)


@pytest.mark.parametrize("runs_between", [False, True])
def test_a_reset_with_everything_downstream_is_taken_back(
    stream: Stream, tmp_path: Path, *, runs_between: bool
) -> None:
    for number in range(3):
        stream.add(number)
    lake = Lake(stream, tmp_path / "lake")
    lake.run()
    assert lake.rows() == rows(3)
    asked = Request(goal="reset", start="earliest", output="truncate", cascade=True)
    looks = DiagnoseRequest(location="to-raw", root=str(lake.home / "streams"))
    journal = lake.carry_out(make_plan(asked, looks))
    if runs_between:
        lake.run()
        assert lake.rows() == rows(3)
    undo = plan_undo(journal, Stores(session=lambda: stream.spark))
    assert isinstance(undo, Plan), undo
    emptied = {"flat", "gold", "last"} | ({"raw"} if runs_between else set())
    assert set(undo.words) == {f"destructive:to-{name}" for name in emptied}
    lake.carry_out(undo)
    stream.add(3)
    lake.run()
    assert lake.rows() == rows(4)
