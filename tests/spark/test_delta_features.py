"""Table features that upgrade the protocol of a Delta table, all switched on between two starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.apply.undo import plan_undo
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from holdfast.proof.multiset import compare
from tests.spark.file_stream import wait_until_given_up

pytestmark = pytest.mark.sampled(1)

FEATURES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableRowTracking": "true",
    "delta.columnMapping.mode": "name",
    "delta.enableInCommitTimestamps": "true",
    "delta.checkpointPolicy": "v2",
    "delta.checkpointInterval": "2",
    "delta.enableChangeDataFeed": "true",
    "delta.enableTypeWidening": "true",
}
RESET = Request(goal="reset", start="earliest", output="truncate")


class Featured:
    """A guarded stream of files into one clustered table, started as often as it is asked."""

    def __init__(self, spark: SparkSession, path: Path, keys: tuple[str, ...]) -> None:
        self.spark, self.path = spark, path
        self.sink = hf.Delta(path=str(path / "table"), keys=keys)
        self.table = f"delta.`{path / 'table'}`"
        (path / "in").mkdir()
        columns = "(id INT, v STRING, n INT)"
        spark.sql(f"CREATE TABLE {self.table} {columns} USING delta CLUSTER BY (id)")

    def run(self, *ids: int) -> None:
        number = len(list((self.path / "in").iterdir()))
        (self.path / f"in/{number}.csv").write_text("".join(f"{each},v{each}\n" for each in ids))
        df = self.spark.readStream.schema("id int, v string").csv(str(self.path / "in"))
        df = df.selectExpr("id", "v", "id AS n")
        try:
            hf.start(
                df,
                stream="features",
                root=str(self.path / "streams"),
                into=self.sink,
                trigger={"availableNow": True},
            ).awaitTermination()
        finally:
            wait_until_given_up()

    def carry_out(self, plan: object) -> str:
        assert isinstance(plan, Plan), plan
        return apply_plan(plan, self.stores, allowed=plan.words)

    @property
    def stores(self) -> Stores:
        return Stores(session=lambda: self.spark)

    def holds(self, *ids: int) -> bool:
        found = [(row.id, row.v, row.n) for row in self.spark.table(self.table).collect()]
        return compare([(each, f"v{each}", each) for each in ids], found).exact


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "merge"])
def test_features_that_are_switched_on_change_nothing(
    spark: SparkSession, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    stream = Featured(spark, tmp_path, keys)
    stream.run(1)
    features = ", ".join(f"'{name}' = '{value}'" for name, value in FEATURES.items())
    spark.sql(f"ALTER TABLE {stream.table} SET TBLPROPERTIES ({features})")
    stream.run(2)
    spark.sql(f"DELETE FROM {stream.table} WHERE id = 1")
    spark.sql(f"OPTIMIZE {stream.table}")
    stream.run(3)
    assert stream.holds(2, 3)
    looks = DiagnoseRequest(location="features", root=str(tmp_path / "streams"))
    journal = stream.carry_out(make_plan(RESET, looks))
    assert stream.holds()
    stream.run(4)
    assert stream.holds(1, 2, 3, 4)
    stream.carry_out(plan_undo(journal, stream.stores))
    assert stream.holds(2, 3)
    stream.run(5)
    assert stream.holds(2, 3, 4, 5), "the file that came meanwhile is read again"
