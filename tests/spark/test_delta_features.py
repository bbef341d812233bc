"""Table features that upgrade the protocol of a Delta table, switched on between two starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.proof.multiset import compare
from tests.spark.file_stream import wait_until_given_up

FEATURES = {
    "deletion vectors": "'delta.enableDeletionVectors' = 'true'",
    "row tracking": "'delta.enableRowTracking' = 'true'",
    "column mapping": "'delta.columnMapping.mode' = 'name'",
    "in-commit timestamps": "'delta.enableInCommitTimestamps' = 'true'",
    "checkpoints of version 2": "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2'",
    "change data feed": "'delta.enableChangeDataFeed' = 'true'",
}


class Started:
    """A guarded stream of files into one table, started as often as it is asked."""

    def __init__(self, spark: SparkSession, path: Path, *keys: str) -> None:
        self.spark, self.path = spark, path
        self.sink = hf.Delta(path=str(path / "table"), keys=keys)
        self.table = f"delta.`{path / 'table'}`"
        (path / "in").mkdir()

    def run(self, *ids: int) -> None:
        number = len(list((self.path / "in").iterdir()))
        (self.path / f"in/{number}.csv").write_text("".join(f"{each},v{each}\n" for each in ids))
        df = self.spark.readStream.schema("id int, v string").csv(str(self.path / "in"))
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

    def holds(self, *ids: int) -> bool:
        found = [
            (row.id, row.v) for row in self.spark.table(self.table).select("id", "v").collect()
        ]
        return compare([(each, f"v{each}") for each in ids], found).exact


@pytest.mark.sampled(2)
@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "merge"])
@pytest.mark.parametrize("feature", FEATURES.values(), ids=list(FEATURES))
def test_a_feature_that_is_switched_on_changes_nothing(
    spark: SparkSession, tmp_path: Path, *, feature: str, keys: tuple[str, ...]
) -> None:
    started = Started(spark, tmp_path, *keys)
    started.run(1)
    spark.sql(f"ALTER TABLE {started.table} SET TBLPROPERTIES ({feature})")
    started.run(2)
    spark.sql(f"DELETE FROM {started.table} WHERE id = 1")
    started.run(3)
    spark.sql(f"OPTIMIZE {started.table}")
    started.run(4)
    assert started.holds(2, 3, 4)


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "merge"])
def test_a_clustered_table_takes_batches(
    spark: SparkSession, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    started = Started(spark, tmp_path, *keys)
    spark.sql(f"CREATE TABLE {started.table} (id INT, v STRING) USING delta CLUSTER BY (id)")
    started.run(1)
    spark.sql(f"OPTIMIZE {started.table}")
    started.run(2)
    spark.sql(f"ALTER TABLE {started.table} CLUSTER BY NONE")
    started.run(3)
    assert started.holds(1, 2, 3)
