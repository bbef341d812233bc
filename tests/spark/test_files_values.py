"""What files give back of what a stream brought, to readers that know nothing of Holdfast."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.ledger import Apply
from holdfast.sinks.files.failures import TooManyFilesError
from holdfast.sinks.files.staging import stage
from holdfast.spark.errors import spark_errors
from holdfast.testing.sink_batches import Batches, ledger_of
from tests.hostile_strings import HOSTILE

pytestmark = pytest.mark.sampled(4)

TEXTS = [each for each in HOSTILE.values() if each.encode(errors="ignore").decode() == each]
TEXTS += ["", " padded ", '"', '""', "\\", '\\"', "a,b", "NULL", "__HIVE_DEFAULT_PARTITION__"]


class Into:
    """One batch, or a few, into a directory of one format."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark = spark
        self.out = home / "lake" / "readings"

    def write(self, *frames: Any, **more: Any) -> hf.Files:
        batches, sink = Batches(self.spark), hf.Files(str(self.out), **more)
        writer = sink.writer_for(frames[0], stream="contract", output_mode="append")
        writer.create()
        assert ledger_of(writer).replace(None, batches.row(writer))
        for number, frame in enumerate(frames):
            assert writer.write(batches.attempt(writer, number), frame) == Apply()
        writer.close()
        return sink

    def held(self, sink: hf.Files, frame: Any) -> Counter[Any]:
        opened = sink.open_contents(frame, stream="contract")
        assert opened is not None
        with opened as held:
            return Counter(held.rows.collect())


@pytest.fixture
def into(spark: SparkSession, tmp_path: Path) -> Into:
    return Into(spark.newSession(), tmp_path)


@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_texts_come_back_as_they_were(into: Into, kind: str) -> None:
    rows = [(number, text) for number, text in enumerate([*TEXTS, None])]
    frame = into.spark.createDataFrame(rows, "id int, text string")
    sink = into.write(frame, format=kind)
    found = into.held(sink, frame)
    changed = {each.text for each in Counter(frame.collect()) - found}
    # Spark's CSV reader takes a carriage return for a line feed, and cannot be told otherwise.
    assert all(kind == "csv" and "\r" in text for text in changed), changed
    plain = _plain_rows(into.out, kind)
    expected = [text for _, text in rows]
    if kind == "csv":
        expected = ["" if text is None else text for text in expected]
    assert [row["text"] for row in sorted(plain, key=lambda row: int(row["id"]))] == expected


def _plain_rows(out: Path, kind: str) -> list[dict[str, Any]]:
    if kind == "parquet":
        found: list[dict[str, Any]] = ds.dataset(str(out)).to_table().to_pylist()
        return found
    return _csv_rows(out) if kind == "csv" else [json.loads(line) for line in _lines(out, "json")]


def _lines(out: Path, ending: str) -> list[str]:
    texts = (path.read_text() for path in out.glob(f"*/*.{ending}"))
    return [line for text in texts for line in text.split("\n") if line]


def _csv_rows(out: Path) -> list[dict[str, str]]:
    found = []
    for path in out.glob("*/*.csv"):
        with path.open(newline="") as file:
            found += list(csv.DictReader(file))
    return found


@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_numbers_and_times_come_back_as_they_were(into: Into, kind: str) -> None:
    into.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
    into.spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    frame = into.spark.sql(
        "SELECT * FROM VALUES (timestamp'2026-01-02 03:04:05.123456', date'1582-10-01', "
        "1234567890123456789.123456789bd, double('nan'), float(0.1), true, "
        "timestamp_ntz'2026-01-02 03:04:05.123456'), "
        "(timestamp'1900-01-01 00:00:00.000001', date'2026-01-01', -1bd, double('-infinity'), "
        "float(1e-30), false, timestamp_ntz'1969-12-31 23:59:59.999999'), "
        "(NULL, NULL, NULL, NULL, NULL, NULL, NULL) AS rows(t, d, n, x, f, b, z)"
    )
    sink = into.write(frame, format=kind)
    shown = Counter(map(str, into.held(sink, frame).elements()))
    assert shown == Counter(map(str, frame.collect()))


def test_rows_are_partitioned_by_columns(into: Into) -> None:
    frame = into.spark.createDataFrame(
        [(1, "x/y=z", 7), (2, None, 8), (3, "x/y=z", None), (4, "ü %", 7)],
        "id int, day string, hour int",
    )
    sink = into.write(frame, frame.limit(0), partition_by=["day", "hour"])
    assert into.held(sink, frame) == Counter(frame.collect())
    found = into.spark.read.parquet(str(into.out)).select("id", "day", "hour").collect()
    assert Counter(found) == Counter(frame.collect())
    assert len(list(into.out.glob("hf_batch=*/day=*/hour=*/*.parquet"))) == 4


@pytest.mark.parametrize("day", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_value_that_no_directory_can_name_is_refused(into: Into, day: str) -> None:
    frame = into.spark.createDataFrame([(1, day)], "id int, day string")
    with pytest.raises(spark_errors(), match="would mean NULL"):
        into.write(frame, partition_by=["day"])
    assert not list(into.out.glob("*"))


def test_the_files_of_a_batch_are_bounded(into: Into) -> None:
    frame = into.spark.range(1000).repartition(20)
    into.write(frame, max_files=3)
    assert len(list(into.out.glob("*/*.parquet"))) == 3
    other = Into(into.spark, into.out / "other")
    parts = frame.selectExpr("id", "id % 5 AS part")
    with pytest.raises(TooManyFilesError):
        other.write(parts, partition_by=["part"], max_files=4)
    assert not list(other.out.glob("*"))
    third = Into(into.spark, into.out / "third")
    sink = third.write(parts, partition_by=["part"], max_files=5)
    assert third.held(sink, parts) == Counter(parts.collect())


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("id int, hf_batch string", {}),
        ("id int, x double", {"partition_by": ["x"]}),
        ("id int", {"partition_by": ["id"]}),
        ("id int", {"partition_by": ["none"]}),
        ("id int", {"format": "csv"}),
        ("id int, day string", {"format": "csv", "partition_by": ["day"]}),
        ("id int, x binary", {"format": "csv"}),
        ("id int, x array<int>", {"format": "csv"}),
        ("id int, x map<string,int>", {"format": "json"}),
        ("id int, x interval day to second", {"format": "json"}),
    ],
)
def test_columns_that_files_do_not_keep_are_refused(
    into: Into, columns: str, options: dict[str, Any]
) -> None:
    frame = into.spark.createDataFrame([], columns)
    with pytest.raises(ConfigError):
        into.write(frame, **options)


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_rows_of_nothing_but_null_are_there(into: Into, kind: str) -> None:
    """Of CSV with two columns; with one, Spark's own writer leaves such a row out."""
    one = into.spark.createDataFrame([(1,), (None,), (None,)], "id int")
    frame = one.selectExpr("id", "id AS other") if kind == "csv" else one
    sink = into.write(frame, format=kind)
    assert into.held(sink, frame) == Counter(frame.collect())
    stage(one, hf.Files("/x", format="csv"), f"{into.out}-alone")
    assert into.spark.read.csv(f"{into.out}-alone", header=True).count() == 1


def test_readers_by_directory_by_glob_and_by_stream_find_the_same(
    into: Into, tmp_path: Path
) -> None:
    frame = into.spark.range(10)
    sink = into.write(frame, frame)
    wanted = Counter((each,) for each in range(10)) + Counter((each,) for each in range(10))
    read = into.spark.read
    for found in (
        read.parquet(sink.path).select("id"),
        read.parquet(f"{sink.path}/*/*.parquet").select("id"),
        read.option("recursiveFileLookup", "true").parquet(sink.path),
        read.option("basePath", sink.path).parquet(f"{sink.path}/*").select("id"),
    ):
        assert Counter(map(tuple, found.collect())) == wanted
    streamed = into.spark.readStream.schema("id long").parquet(sink.path)
    query = (
        streamed.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "copied"))
    )
    query.awaitTermination()
    copied = read.parquet(str(tmp_path / "copied"))
    assert Counter(map(tuple, copied.select("id").collect())) == wanted


def test_a_batch_that_is_refused_leaves_nothing(into: Into) -> None:
    batches = Batches(into.spark)
    sink = hf.Files(str(into.out))
    writer = batches.start(sink)
    assert ledger_of(writer).replace(None, batches.row(writer))
    failing = into.spark.range(10).selectExpr("assert_true(id < 5) IS NULL AS ok")
    with pytest.raises(spark_errors()):
        writer.write(batches.attempt(writer, 0), failing)
    assert not list(into.out.glob("*"))
    late = replace(batches.attempt(writer, 0), epoch=9)
    assert writer.write(late, batches.frame([])) != Apply()
