"""A column of a Delta table gets another type while a stream runs: no value is cast."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.proof.multiset import compare
from tests.spark.file_stream import wait_until_given_up


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "merge"])
def test_a_column_that_was_dropped_and_added_with_another_type_takes_no_batch(
    spark: SparkSession, tmp_path: Path, keys: tuple[str, ...]
) -> None:
    table, files = f"delta.`{tmp_path / 'table'}`", tmp_path / "in"
    files.mkdir()
    spark.sql(
        f"CREATE TABLE {table} (id INT, amount DOUBLE) USING delta TBLPROPERTIES"
        " ('delta.columnMapping.mode' = 'name')"
    )
    (files / "0.csv").write_text("1,1.7\n")
    df = spark.readStream.schema("id int, amount double").csv(str(files))
    sink = hf.Delta(path=str(tmp_path / "table"), keys=keys)
    query = hf.start(df, stream="types", root=str(tmp_path / "streams"), into=sink)
    try:
        query.processAllAvailable()
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS (more STRING)")
        (files / "1.csv").write_text("2,2.7\n")
        query.processAllAvailable()
        spark.sql(f"ALTER TABLE {table} DROP COLUMN amount")
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS (amount INT)")
        (files / "2.csv").write_text("3,3.7\n")
        with pytest.raises(StreamingQueryException, match="have other types now"):
            query.processAllAvailable()
    finally:
        query.stop()
        wait_until_given_up()
    found = [(row.id, row.amount) for row in spark.table(table).collect()]
    assert compare([(1, None), (2, None)], found).exact
