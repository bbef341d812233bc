"""`hf.Pipeline`: streams that read what others write, each in a guard of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.streams import building
from holdfast.streams.pipeline import PipelineStartError
from tests.spark.file_stream import Stream, wait_until_given_up
from tests.spark.unchanged import snapshot

pytestmark = pytest.mark.sampled(3)

ONCE = {"availableNow": True}


class Lake:
    """A pipeline of two streams: files to raw, raw to gold."""

    def __init__(self, stream: Stream, home: Path) -> None:
        self.files = stream
        self.raw, self.gold = str(home / "raw"), str(home / "gold")
        self.pipeline = hf.Pipeline("lake", root=str(home / "streams"))

    def declare(self) -> hf.Pipeline:
        self.pipeline.stream("to-raw", into=hf.Delta(path=self.raw))(lambda _: self.files.source)
        self.pipeline.stream("to-gold", into=hf.Delta(path=self.gold, keys=["value"]))(
            self.read_raw
        )
        return self.pipeline

    def read_raw(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.format("delta").load(self.raw)

    def run(self, **more: Any) -> None:
        for query in self.pipeline.start(self.files.spark, trigger=ONCE, **more).values():
            query.awaitTermination()
        wait_until_given_up()

    def rows(self, table: str) -> Counter[str]:
        found = self.files.spark.read.format("delta").load(table).collect()
        return Counter(row.value for row in found)


@pytest.fixture
def lake(stream: Stream, tmp_path: Path) -> Lake:
    found = Lake(stream, tmp_path)
    found.declare()
    return found


def test_all_streams_run_and_one_reads_what_another_writes(lake: Lake) -> None:
    lake.run(only=["to-raw"])
    lake.run(only=["to-gold"])
    lake.files.add(3)
    lake.run()
    lake.run()
    expected = Counter(f"row {number}" for number in range(4))
    assert lake.rows(lake.raw) == expected
    assert lake.rows(lake.gold) == expected


def test_the_streams_are_drawn_below_what_they_read(lake: Lake) -> None:
    drawn = lake.pipeline.show(lake.files.spark)
    assert drawn == f"to-raw  →  {lake.raw}\n  └ to-gold  →  {lake.gold}"
    told = lake.pipeline.describe(lake.files.spark)["streams"]
    assert [(each["name"], each["followed_by"]) for each in told] == [
        ("to-raw", ("to-gold",)),
        ("to-gold", ()),
    ]


def test_a_stream_that_cannot_start_does_not_take_the_others_down(lake: Lake) -> None:
    lake.run(only=["to-raw"])
    lake.files.spark.sql(f"TRUNCATE TABLE delta.`{lake.raw}`")
    with pytest.raises(PipelineStartError, match="1 of 2 streams of lake") as refused:
        lake.run()
    assert list(refused.value.errors) == ["to-raw"]
    assert isinstance(refused.value.errors["to-raw"], hf.StartRefusedError)
    refused.value.queries["to-gold"].stop()
    wait_until_given_up()


def test_a_stream_that_spark_refuses_does_not_take_the_others_down(lake: Lake) -> None:
    other = hf.Pipeline("other", root=str(lake.files.root))
    counted = hf.Delta(path=lake.gold)
    other.stream("counted", into=counted)(lambda _: lake.files.source.groupBy("value").count())
    other.stream("plain", into=hf.Delta(path=lake.raw))(lambda _: lake.files.source)
    with pytest.raises(PipelineStartError) as refused:
        other.start(lake.files.spark, trigger=ONCE)
    assert list(refused.value.errors) == ["counted"]
    refused.value.queries["plain"].awaitTermination()
    wait_until_given_up()


def test_an_option_that_is_misspelt_starts_nothing(lake: Lake) -> None:
    with pytest.raises(TypeError, match="triger"):
        lake.pipeline.start(lake.files.spark, triger=ONCE)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="output_mode"):
        lake.pipeline.stream("third", into=hf.Delta(path="x"), output_mode="update")  # type: ignore[call-arg]
    assert lake.files.spark.streams.active == []


def test_whatever_a_start_raises_the_queries_that_run_are_told(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.run()
    real = hf.start

    def start(df: DataFrame, **given: Any) -> Any:
        if given["stream"] == "to-gold":
            raise ZeroDivisionError("a bug")
        return real(df, **given)

    monkeypatch.setattr(building, "start", start)
    with pytest.raises(PipelineStartError, match="a bug") as refused:
        lake.pipeline.start(lake.files.spark)
    assert list(refused.value.queries) == ["to-raw"]
    refused.value.queries["to-raw"].stop()
    wait_until_given_up()


def test_what_shows_a_pipeline_creates_nothing(lake: Lake, tmp_path: Path) -> None:
    lake.pipeline.stream("to-table", into=lake.files.sink())(lambda _: lake.files.source)
    before = snapshot((tmp_path,), lake.files.dsn)
    assert "to-gold" in lake.pipeline.show(lake.files.spark)
    lake.pipeline.describe(lake.files.spark)
    assert snapshot((tmp_path,), lake.files.dsn) == before


def test_streams_that_read_each_other_are_named_before_any_starts(lake: Lake) -> None:
    nothing = lake.files.spark.createDataFrame([], "value string").write.format("delta")
    for table in (lake.raw, lake.gold):
        nothing.save(table)
    lake.pipeline.stream("back", into=hf.Delta(path=lake.raw, keys=["value"], name="back"))(
        lambda spark: spark.readStream.format("delta").load(lake.gold)
    )
    with pytest.raises(ConfigError, match="both write to"):
        lake.pipeline.start(lake.files.spark)
    other = hf.Pipeline("circle", root=str(lake.files.root))
    keyed = {"keys": ["value"]}
    other.stream("there", into=hf.Delta(path=lake.gold, **keyed))(lake.read_raw)  # type: ignore[arg-type]
    other.stream("back", into=hf.Delta(path=lake.raw, **keyed))(  # type: ignore[arg-type]
        lambda spark: spark.readStream.format("delta").load(lake.gold)
    )
    with pytest.raises(ConfigError, match="there -> back -> there"):
        other.start(lake.files.spark)
    assert lake.files.spark.streams.active == []


def test_names_are_checked_when_they_are_declared(lake: Lake) -> None:
    with pytest.raises(ConfigError, match="has a stream to-raw already"):
        lake.pipeline.stream("to-raw", into=hf.Delta(path=lake.raw))
    with pytest.raises(ConfigError, match="has no stream nowhere"):
        lake.pipeline.start(lake.files.spark, only=["nowhere"])
    with pytest.raises(ConfigError, match="a date"):
        lake.pipeline.stream("raw-2026-11-15", into=hf.Delta(path=lake.raw))
