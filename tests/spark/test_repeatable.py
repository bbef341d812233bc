"""Which queries are proven to give the same rows again; every other batch is materialised first."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from holdfast.spark.classic.repeatable import is_repeatable
from tests.spark.repeatable_queries import (
    DIFFERENT,
    HERE,
    NOT_PROVEN,
    PROVEN,
    THERE,
    TYPES,
    listed,
    settle,
)

Build = Callable[[DataFrame], DataFrame]


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    return spark.newSession()


@pytest.fixture
def source(session: SparkSession, tmp_path: Path) -> DataFrame:
    return session.readStream.schema(TYPES).parquet(str(tmp_path))


@pytest.mark.parametrize("around", [HERE, THERE], ids=["here", "there"])
def test_expressions_are_judged_alike_in_every_session(
    source: DataFrame, around: tuple[str, str]
) -> None:
    settle(source.sparkSession, around)
    judged = {text: is_repeatable(source.selectExpr(text)) for text in EXPECTED}
    assert judged == EXPECTED


EXPECTED = {
    **dict.fromkeys(listed(PROVEN), True),
    **dict.fromkeys(listed(DIFFERENT) + listed(NOT_PROVEN), False),
}


def static(df: DataFrame) -> DataFrame:
    return df.sparkSession.range(3)


def tagged(df: DataFrame) -> DataFrame:
    tag = F.udf(lambda text: f"{text}{uuid.uuid4()}", "string")
    return df.select(tag("s"))


def viewed(df: DataFrame) -> DataFrame:
    df.createOrReplaceTempView("viewed")
    return df.sparkSession.sql("SELECT id FROM viewed")


REPEATABLE: dict[str, Build] = {
    "columns": lambda df: df.select("id", F.col("s").alias("t")).drop("t"),
    "filter": lambda df: df.where((F.col("id") > 1) & F.col("s").isin("a", "b")),
    "alias": lambda df: df.alias("a").where("a.id > 1"),
    "watermark": lambda df: df.withWatermark("ts", "1 hour").where("b"),
    "explode": lambda df: df.select("id", F.explode("xs").alias("x")).select("x.a"),
    "posexplode": lambda df: df.select("id", F.posexplode_outer("xs")),
    "inline": lambda df: df.selectExpr("id", "inline(xs)"),
    "union": lambda df: df.select("id").union(df.select(F.col("i").alias("id"))),
    "union by name": lambda df: df.select("id").unionByName(df.select("s"), True),
    "missing": lambda df: df.dropna(subset=["id", "s"]).fillna("-", ["s"]).fillna(0, ["d"]),
    "late key": lambda df: df.select(F.col("id") - F.when(F.col("id") % 5 == 0, 3).otherwise(0)),
}
NOT_REPEATABLE: dict[str, Build] = {
    "join": lambda df: df.join(static(df), "id"),
    "broadcast join": lambda df: df.join(F.broadcast(static(df)), "id", "left"),
    "stream join": lambda df: df.select("id").join(df.select("id", "s"), "id"),
    "lateral join": lambda df: df.lateralJoin(static(df).select(F.col("id").alias("more"))),
    "union with a table": lambda df: df.select("id").union(static(df)),
    "in a table": lambda df: df.where("id IN (SELECT id FROM range(3))"),
    "scalar": lambda df: df.where(F.col("id") <= static(df).select(F.max("id")).scalar()),
    "exists": lambda df: df.where(static(df).where("id = 1").exists()),
    "in nothing": lambda df: df.where(~F.col("s").isin([])),
    "python": tagged,
    "a view, which others can replace": viewed,
    "random": lambda df: df.where(F.rand() < 0.5),
    "sample": lambda df: df.sample(0.5),
    "count": lambda df: df.groupBy("s").count(),
    "distinct": lambda df: df.dropDuplicates(["id"]),
    "limit": lambda df: df.limit(5),
    "typed": lambda df: df.select("id").mapInPandas(lambda frames: frames, "id long"),
    "implicit union": lambda df: df.select("s").union(df.select("i")),
    "time as a literal": lambda df: df.where(F.col("ts") > F.current_timestamp()),
}


@pytest.mark.parametrize("name", REPEATABLE)
def test_rows_that_are_picked_one_by_one_repeat(source: DataFrame, name: str) -> None:
    assert is_repeatable(REPEATABLE[name](source))


@pytest.mark.parametrize("name", NOT_REPEATABLE)
def test_what_depends_on_more_than_the_batch_does_not(source: DataFrame, name: str) -> None:
    assert not is_repeatable(NOT_REPEATABLE[name](source))


class Numbers(DataSource):
    """A source in Python: what it reads is up to its author."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "id long"

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:  # noqa: ARG002, N802
        return NumbersReader()


class NumbersReader(SimpleDataSourceStreamReader):
    """Never asked."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"at": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
        return iter([]), start

    def readBetweenOffsets(self, start: Any, end: Any) -> Iterator[Any]:  # noqa: ARG002, N802
        return iter([])


KAFKA = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "readings"}


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("kafka", KAFKA, True),
        ("kafka", {**KAFKA, "failOnDataLoss": "true", "includeHeaders": "true"}, True),
        ("kafka", {**KAFKA, "failOnDataLoss": "false"}, False),
        ("rate", {}, False),
        ("rate-micro-batch", {"rowsPerBatch": "1"}, False),
        ("socket", {"host": "127.0.0.1", "port": "1"}, False),
        ("numbers", {}, False),
    ],
)
def test_offsets_of_kafka_name_records_and_those_of_others_need_not(
    session: SparkSession, kind: str, given: dict[str, str], *, expected: bool
) -> None:
    session.dataSource.register(Numbers)
    df = session.readStream.format(kind).options(**given).load()
    assert is_repeatable(df) is expected


def test_a_kafka_value_that_is_parsed_and_filtered_repeats(session: SparkSession) -> None:
    df = session.readStream.format("kafka").options(**KAFKA).load()
    value = F.from_json(F.col("value").cast("string"), "sensor string, reading double, at long")
    fields = df.select("partition", "offset", "timestamp", value.alias("v"))
    assert is_repeatable(fields.where("v.reading > 1.5 AND v.sensor IS NOT NULL").select("v.*"))


@pytest.mark.parametrize(
    ("kind", "schema", "given", "expected"),
    [
        ("text", None, {}, True),
        ("text", None, {"ignoreMissingFiles": "true"}, False),
        ("json", "a int, b array<struct<c: string>>", {}, True),
        ("json", "a int, b array<struct<c: timestamp>>", {}, False),
        ("csv", "a int, b double, c decimal(10, 2)", {"header": "true"}, True),
        ("csv", "a int, b date", {}, False),
        ("parquet", "a int, b timestamp", {}, True),
        ("parquet", "a int", {"ignoreCorruptFiles": "true"}, False),
        ("orc", "a int", {}, False),
    ],
)
def test_files_repeat_unless_their_format_reads_times_or_leaves_files_out(
    session: SparkSession,
    tmp_path: Path,
    *,
    kind: str,
    schema: str | None,
    given: Any,
    expected: Any,
) -> None:
    reader = session.readStream.format(kind).options(**given)
    df = (reader.schema(schema) if schema else reader).load(str(tmp_path))
    assert is_repeatable(df) is expected


def test_files_that_spark_may_leave_out_do_not_repeat(source: DataFrame) -> None:
    source.sparkSession.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    assert not is_repeatable(source)


def test_columns_that_spark_infers_from_directories_do_not_repeat(
    session: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1/f").write_text("row\n")
    assert not is_repeatable(session.readStream.text(str(tmp_path)))


def test_how_a_file_was_split_does_not_repeat(source: DataFrame) -> None:
    assert not is_repeatable(source.select("id", "_metadata.file_block_start"))


@pytest.mark.parametrize(
    ("partitions", "given", "expected"),
    [
        ([], {}, True),
        (["d"], {"maxFilesPerTrigger": "1", "skipChangeCommits": "true"}, True),
        (["t"], {}, False),
        ([], {"failOnDataLoss": "false"}, False),
        ([], {"ignoreChanges": "true"}, False),
        ([], {"readChangeFeed": "true"}, False),
    ],
)
def test_a_delta_table_repeats_unless_its_log_has_times_as_text(
    session: SparkSession, tmp_path: Path, *, partitions: list[str], given: Any, expected: bool
) -> None:
    where = str(tmp_path / "a `table`")
    rows = session.sql("SELECT 1 AS id, timestamp_micros(0) AS t, DATE '2024-01-01' AS d")
    writer = rows.write.format("delta").option("delta.enableChangeDataFeed", "true")
    writer.partitionBy(*partitions).save(where)
    df = session.readStream.format("delta").options(**given).load(where)
    assert is_repeatable(df) is expected
