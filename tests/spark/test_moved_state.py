"""State that names its files by their place goes on in another place, the old one deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

import holdfast as hf
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from tests.spark.file_stream import TIME, wait_until_given_up

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def counting() -> Any:
    """Return a processor that counts by key; made here, so that it is pickled by value."""

    class Counting(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self._count = handle.getValueState("count", "n long")

        def handleInputRows(  # noqa: N802 - Spark's name
            self,
            key: Any,
            rows: Any,
            timerValues: Any,  # noqa: ARG002, N803 - Spark's name
        ) -> Iterator[Any]:
            count = self._count.get()[0] if self._count.exists() else 0
            for frame in rows:
                count += len(frame)
            self._count.update((count,))
            yield frame.head(1).assign(k=key[0], n=count)[["k", "n"]]

        def close(self) -> None:
            pass

    return Counting()


class Counts:
    """A stream of files, counted by `transformWithStateInPandas` into a Delta table."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.files, self.table = spark.newSession(), home / "in", str(home / "lake")
        self.spark.conf.set(PROVIDER, ROCKSDB)
        self.files.mkdir()

    def add(self, number: int) -> None:
        path = self.files / f"f{number}"
        path.write_text("a\na\nb\n")
        os.utime(path, (TIME + number, TIME + number))

    def run(self, root: Path) -> dict[str, int]:
        reader = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        groups = reader.load(str(self.files)).groupBy("value")
        df = groups.transformWithStateInPandas(counting(), "k string, n long", "update", "none")
        sink = hf.Delta(path=self.table, keys=["k"])
        given: dict[str, Any] = {"outputMode": "update", "trigger": {"availableNow": True}}
        hf.start(df, stream="counts", into=sink, root=str(root), **given).awaitTermination()
        wait_until_given_up()
        rows = self.spark.read.format("delta").load(self.table).collect()
        return {row.k: row.n for row in rows}

    def carry_out(self, request: Request, root: Path) -> None:
        plan = make_plan(request, DiagnoseRequest(location="counts", root=str(root)))
        assert isinstance(plan, Plan), plan
        apply_plan(plan, Stores(session=lambda: self.spark), allowed=plan.words)


@pytest.mark.timeout(300)
def test_it_goes_on_after_a_move_and_after_a_rewind(spark: SparkSession, tmp_path: Path) -> None:
    counts, one, two = Counts(spark, tmp_path), tmp_path / "one", tmp_path / "two"
    counts.add(0)
    counts.add(1)
    assert counts.run(one) == {"a": 4, "b": 2}
    counts.carry_out(Request(goal="move", target=str(two)), one)
    shutil.rmtree(one)
    counts.add(2)
    assert counts.run(two) == {"a": 6, "b": 3}
    counts.carry_out(Request(goal="rewind", batch=1, output="keep"), two)
    shutil.rmtree(two / "counts")
    counts.add(3)
    assert counts.run(two) == {"a": 8, "b": 4}
