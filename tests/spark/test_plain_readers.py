"""Plain streams that read what another one writes: reset with it, and taken back with it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from holdfast.apply import movement
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from tests.spark.restarts import add_file

RESET = Request(goal="reset", start="earliest", output="truncate", cascade=True)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a plan follow a run at once: what is quiet is tested elsewhere."""
    monkeypatch.setattr(movement, "find_movement", lambda *_, **__: None)


@dataclass
class TwoStages:
    """Text files into a Delta table by its own sink, and that table into another one by code."""

    spark: SparkSession
    home: Path

    def place(self, name: str) -> str:
        return str(self.home / "lake" / name)

    def checkpoint(self, name: str) -> Path:
        return self.home / "cp" / name

    def add(self, number: int, *rows: str) -> None:
        (self.home / "in").mkdir(exist_ok=True)
        add_file(self.home / "in", number, *rows)

    def run_orders(self) -> None:
        reader = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        rows = reader.load(str(self.home / "in"))
        writer = rows.writeStream.option("checkpointLocation", str(self.checkpoint("orders")))
        query = writer.trigger(availableNow=True).format("delta").start(self.place("orders"))
        query.awaitTermination()

    def run_copies(self) -> None:
        def append(batch: DataFrame, _: int) -> None:
            batch.write.format("delta").mode("append").save(self.place("copies"))

        reader = self.spark.readStream.format("delta").option("maxFilesPerTrigger", 1)
        rows = reader.load(self.place("orders"))
        writer = rows.writeStream.option("checkpointLocation", str(self.checkpoint("copies")))
        writer.trigger(availableNow=True).foreachBatch(append).start().awaitTermination()

    def run(self) -> None:
        self.run_orders()
        self.run_copies()

    def rows(self) -> tuple[Counter[str], Counter[str]]:
        orders, copies = (
            Counter(
                row.value
                for row in self.spark.read.format("delta").load(self.place(each)).collect()
            )
            for each in ("orders", "copies")
        )
        return orders, copies

    def files(self) -> dict[str, bytes]:
        return {
            str(each.relative_to(self.home)): each.read_bytes()
            for name in ("orders", "copies")
            for each in self.checkpoint(name).rglob("*")
            if each.is_file()
        }

    def reset(self) -> str:
        looks = DiagnoseRequest(
            location=str(self.checkpoint("orders")),
            sinks=(self.place("orders"), f"copies={self.place('copies')}"),
            among=str(self.home / "cp"),
            probe=True,
        )
        return self.apply(make_plan(RESET, looks))

    def stores(self) -> Stores:
        return Stores(session=lambda: self.spark, roots=(str(self.home / "lake"),))

    def apply(self, plan: Plan | NoPlan) -> str:
        assert isinstance(plan, Plan), plan
        return apply_plan(plan, self.stores(), allowed=plan.words)

    def undo(self, journal: str) -> Plan:
        plan = plan_undo(journal, self.stores())
        self.apply(plan)
        assert isinstance(plan, Plan)
        return plan


def test_a_reader_is_reset_and_goes_on_after_the_undo(spark: SparkSession, tmp_path: Path) -> None:
    stages = TwoStages(spark, tmp_path)
    stages.add(0, "a", "same")
    stages.add(1, "b", "same")
    stages.run()
    rows, files = stages.rows(), stages.files()
    assert rows == (Counter({"a": 1, "b": 1, "same": 2}),) * 2

    journal = stages.reset()
    assert stages.rows() == (Counter(), Counter())
    stages.run()
    assert stages.rows() == rows

    undo = stages.undo(journal)
    assert "by-hand:copies" not in undo.words
    assert stages.rows() == rows
    unlike = {each for each, content in stages.files().items() if files.get(each) != content}
    assert unlike == {"cp/copies/offsets/0", "cp/copies/offsets/1"}
    stages.add(2, "c")
    stages.run()
    assert stages.rows() == (rows[0] + Counter("c"),) * 2
