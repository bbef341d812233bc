"""Delta tables with nested columns: compared as Delta stores them, created and adopted alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.proof.multiset import compare
from holdfast.sinks.delta.columns import DeltaTableError
from tests.spark.file_stream import wait_until_given_up

NESTED = (
    "split(v, ',') AS s",
    "array(1, 2) AS a",
    "named_struct('one', 1, 'in', array(named_struct('deep', v))) AS t",
    "map('k', struct(id)) AS m",
    "window(timestamp_seconds(id), '1 hour') AS w",
)


class Files:
    """A stream of lines `id,v`."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path
        (path / "in").mkdir()

    def add(self, *lines: str) -> None:
        number = len(list((self.path / "in").iterdir()))
        (self.path / f"in/{number}.csv").write_text("".join(f"{line}\n" for line in lines))

    def read(self) -> DataFrame:
        reader = self.spark.readStream.schema("id long, v string").option("sep", ";")
        return reader.csv(str(self.path / "in"))

    def run(self, df: DataFrame, *keys: str, sequence_by: str | None = None) -> None:
        sink = hf.Delta(path=str(self.path / "table"), keys=keys, sequence_by=sequence_by)
        root = str(self.path / "streams")
        now = {"availableNow": True}
        try:
            hf.start(df, stream="nested", root=root, into=sink, trigger=now).awaitTermination()
        finally:
            wait_until_given_up()

    @property
    def table(self) -> DataFrame:
        return self.spark.read.format("delta").load(str(self.path / "table"))


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Files:
    return Files(spark, tmp_path)


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "merge"])
def test_nested_columns_start_and_start_again(files: Files, keys: tuple[str, ...]) -> None:
    df = files.read().selectExpr("id", *NESTED)
    files.add("1;a,b")
    files.run(df, *keys)
    files.add("2;c")
    files.run(df, *keys)
    found = [(row.id, row.s, row.a, row.t["in"][0].deep, row.m) for row in files.table.collect()]
    expected = [
        (1, ["a", "b"], [1, 2], "a,b", {"k": (1,)}),
        (2, ["c"], [1, 2], "c", {"k": (2,)}),
    ]
    assert compare([str(each) for each in expected], [_plain(each) for each in found]).exact


def _plain(row: tuple[object, ...]) -> str:
    *others, kept = row
    assert isinstance(kept, dict)
    return str((*others, {name: tuple(value) for name, value in kept.items()}))


def test_a_table_that_is_stricter_than_the_stream_is_named_for_a_merge(files: Files) -> None:
    files.spark.sql(
        f"CREATE TABLE delta.`{files.path / 'table'}` (id BIGINT, t STRUCT<v: STRING NOT NULL>)"
        " USING delta"
    )
    files.add("1;a")
    df = files.read().selectExpr("id", "struct(v) AS t")
    with pytest.raises(DeltaTableError, match=r"Its t\.v must not be NULL"):
        files.run(df, "id")
    files.run(df)
    assert [(row.id, row.t.v) for row in files.table.collect()] == [(1, "a")]


def test_char_is_refused_by_name_and_what_is_printed_repairs_it(files: Files) -> None:
    table = f"delta.`{files.path / 'table'}`"
    files.spark.sql(f"CREATE TABLE {table} (id BIGINT, v CHAR(5)) USING delta")
    files.add("1;ab")
    with pytest.raises(DeltaTableError, match=r"char\(5\), which pads") as refused:
        files.run(files.read())
    assert files.table.count() == 0
    files.spark.sql(refused.value.how)
    files.run(files.read())
    assert [(row.id, row.v) for row in files.table.collect()] == [(1, "ab")]


def test_a_lossy_timestamp_setting_cuts_nothing(files: Files) -> None:
    name = "spark.sql.parquet.outputTimestampType"
    session = files.spark.newSession()
    session.conf.set(name, "TIMESTAMP_MILLIS")
    files.spark = session
    files.add("1;a")
    at = "timestamp'2024-01-01 00:00:00.123456'"
    files.run(files.read().selectExpr("id", f"{at} AS at"), "id")
    assert files.table.where(f"at = {at}").count() == 1
    assert session.conf.get(name) == "TIMESTAMP_MILLIS"


@pytest.mark.parametrize("values", [("0.0", "-0.0"), ("-0.0", "0.0")], ids=" then ".join)
def test_of_two_zeros_the_same_one_stays(files: Files, values: tuple[str, ...]) -> None:
    df = files.read().selectExpr("1 AS k", "id", "CAST(v AS DOUBLE) AS v")
    for value in values:
        files.add(f"1;{value}")
        files.run(df, "k", sequence_by="id")
    assert [str(row.v) for row in files.table.collect()] == ["0.0"]
