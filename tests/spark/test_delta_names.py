"""Delta tables with unusual names and columns, under guard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.proof.multiset import compare
from tests.spark.file_stream import wait_until_given_up
from tests.spark.restarts import add_file

NAMES = ["back`tick", "per%20cent", "with space", "quo'te"]


def run(spark: SparkSession, files: Path, sink: hf.Delta) -> None:
    reader = spark.readStream.format("text").load(str(files))
    root = files.parent / "streams"
    try:
        hf.start(
            reader, stream="names", root=str(root), into=sink, trigger={"availableNow": True}
        ).awaitTermination()
    finally:
        wait_until_given_up()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("keyed", [{}, {"keys": ["value"]}], ids=["append", "merge"])
@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_directory_can_be_a_table(
    spark: SparkSession, tmp_path: Path, *, name: str, keyed: dict[str, Any]
) -> None:
    files, table = tmp_path / "in", tmp_path / name
    files.mkdir()
    for number in range(2):
        add_file(files, number, f"row {number}")
        run(spark, files, hf.Delta(path=str(table), **keyed))
    found = [row.value for row in spark.read.format("delta").load(str(table)).collect()]
    assert compare(["row 0", "row 1"], found).exact


def test_columns_that_delta_fills_itself_are_left_to_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A fence names the stream's columns alone: an identity takes no value."""
    files, table = tmp_path / "in", tmp_path / "numbered"
    files.mkdir()
    add_file(files, 0, "a", "b")
    spark.sql(
        f"CREATE TABLE delta.`{table}` (number BIGINT GENERATED ALWAYS AS IDENTITY, value STRING,"
        " size INT GENERATED ALWAYS AS (length(value))) USING delta"
    )
    run(spark, files, hf.Delta(path=str(table)))
    found = spark.read.format("delta").load(str(table)).collect()
    assert compare([("a", 1), ("b", 1)], [(row.value, row.size) for row in found]).exact
    assert len({row.number for row in found}) == 2
