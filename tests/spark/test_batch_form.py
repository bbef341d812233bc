"""The batch form of a declared stream gives exactly the rows that the stream gave."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.ids import BatchId
from holdfast.ledger.coverage import NOTHING_READ, Coverage, read_coverage
from holdfast.sources.ranges import NoRange, Ranges, read_ranges
from holdfast.spark.classic.batch_plan import static_sides
from holdfast.spark.errors import first_line, spark_errors
from holdfast.storage import open_reader
from holdfast.streams.batch_form import BatchForm, NoBatchForm, batch_form
from holdfast.streams.declared import Declared
from lab import Kafka

pytestmark = pytest.mark.sampled(1)
"""`HOLDFAST_ALL=1` runs all of them."""

Build = Callable[[Any], DataFrame]


class Run:
    """A plain stream into a Delta table, one run at a time."""

    def __init__(self, spark: SparkSession, place: Path, build: Build) -> None:
        self.spark = spark
        self.build = build
        self.checkpoint = place / "checkpoint"
        self.output = place / "output"

    @property
    def declared(self) -> Declared:
        return Declared(name="s", build=self.build, sinks=(), options={"outputMode": "append"})

    def run(self) -> None:
        writer = self.build(self.spark).writeStream.format("delta").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self.checkpoint)).start(str(self.output))
        query.awaitTermination()

    def offsets(self, batch: int) -> str:
        """Return where a batch ended, as a ledger row has it."""
        found = read_coverage(open_reader(str(self.checkpoint)), BatchId(batch))
        assert isinstance(found, Coverage)
        return found.end_offsets

    @property
    def newest(self) -> int:
        return max(int(each.name) for each in (self.checkpoint / "commits").glob("[0-9]*"))

    def ranges(self, start: int = -1, end: int | None = None) -> Ranges:
        """Return the ranges after one batch up to another; by default of everything."""
        found = read_ranges(
            open_reader(str(self.checkpoint)),
            start=NOTHING_READ if start < 0 else self.offsets(start),
            end=self.offsets(self.newest if end is None else end),
        )
        assert not isinstance(found, NoRange), found
        return found

    def form(self, **given: Any) -> BatchForm:
        found = batch_form(self.spark, self.declared, self.ranges(**given))
        assert isinstance(found, BatchForm), found
        return found

    def refused(self, **given: Any) -> str:
        found = batch_form(self.spark, self.declared, self.ranges(**given))
        assert isinstance(found, NoBatchForm), found
        return found.reason

    def written(self) -> Counter[Any]:
        return rows(self.spark.read.format("delta").load(str(self.output)))


def rows(df: DataFrame) -> Counter[Any]:
    return Counter(tuple(map(repr, row)) for row in df.collect())


@pytest.fixture
def topic(kafka: Kafka) -> str:
    name = f"batch_form_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=2)
    return name


def produce(kafka: Kafka, topic: str, numbers: range) -> None:
    sent = ((number % 2, b"k", str(number).encode(), 1_700_000_000_000) for number in numbers)
    kafka.produce(topic, sent)


def test_kafka_from_its_beginning_and_in_between(
    *, spark: SparkSession, kafka: Kafka, topic: str, tmp_path: Path
) -> None:
    def build(session: Any) -> DataFrame:
        reader = session.readStream.format("kafka").option("subscribe", topic)
        reader = reader.option("kafka.bootstrap.servers", kafka.address)
        reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 10)
        found: DataFrame = reader.load().select("partition", "offset", "value", "timestamp")
        return found.where("offset % 3 <> 1").withWatermark("timestamp", "1 minute")

    run = Run(spark, tmp_path, build)
    produce(kafka, topic, range(40))
    run.run()
    produce(kafka, topic, range(40, 60))  # not covered
    assert run.newest >= 3
    form = run.form()
    assert form.doubts == ()
    assert rows(form.df) == run.written()
    parts = [run.form(start=-1, end=1), run.form(start=1, end=2), run.form(start=2)]
    assert sum((rows(each.df) for each in parts), Counter[Any]()) == run.written()
    assert rows(parts[1].df)


def test_records_that_expired_fail_the_job_and_are_not_left_out(
    *, spark: SparkSession, kafka: Kafka, topic: str, tmp_path: Path
) -> None:
    def build(session: Any) -> DataFrame:
        reader = session.readStream.format("kafka").option("subscribe", topic)
        reader = reader.option("kafka.bootstrap.servers", kafka.address)
        found: DataFrame = reader.option("startingOffsets", "earliest").load()
        return found

    run = Run(spark, tmp_path, build)
    produce(kafka, topic, range(20))
    run.run()
    client = AdminClient({"bootstrap.servers": kafka.address})
    for done in client.delete_records([TopicPartition(topic, 0, 4)]).values():
        done.result(60)
    with pytest.raises(spark_errors()) as failed:
        run.form().df.collect()
    assert "Some data may have been lost" in first_line(failed.value)


def test_a_delta_table_from_its_beginning_and_in_between(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = str(tmp_path / "source")

    def append(numbers: range) -> None:
        df = spark.range(numbers.start, numbers.stop).withColumn("name", F.lit("a"))
        df.write.format("delta").mode("append").save(source)

    def build(session: Any) -> DataFrame:
        reader = session.readStream.format("delta").option("maxFilesPerTrigger", 100)
        found: DataFrame = reader.load(source).select((F.col("id") * 2).alias("id"), "name")
        return found

    run = Run(spark, tmp_path, build)
    for numbers in (range(5), range(5, 9)):
        append(numbers)
    run.run()
    for numbers in (range(9, 20), range(20, 24)):
        append(numbers)
        run.run()
    append(range(100, 104))  # not covered
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 3")  # nor is this
    assert rows(run.form().df) == run.written()
    first, last = run.form(end=0).df, run.form(start=0).df
    assert (len(rows(first)), len(rows(last))) == (9, 15)
    assert rows(first) + rows(last) == run.written()
    spark.range(3).withColumn("name", F.lit("a")).write.format("delta").mode("overwrite").option(
        "overwriteSchema", "true"
    ).save(str(tmp_path / "other"))
    run.build = lambda session: session.readStream.format("delta").load(str(tmp_path / "other"))
    assert "was replaced" in run.refused()


def test_changes_of_a_delta_table_that_the_stream_let_pass_are_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = str(tmp_path / "source")

    def build(session: Any) -> DataFrame:
        reader = session.readStream.format("delta").option("skipChangeCommits", True)
        found: DataFrame = reader.load(source)
        return found

    run = Run(spark, tmp_path, build)
    for number in range(2):
        spark.range(number * 5, number * 5 + 5).write.format("delta").mode("append").save(source)
        run.run()
    assert rows(run.form().df) == run.written()
    spark.sql(f"DELETE FROM delta.`{source}` WHERE id = 3")
    spark.range(20, 25).write.format("delta").mode("append").save(source)
    run.run()
    assert "version 2 of the Delta table" in run.refused()


def test_files_are_those_of_the_log_and_no_others(spark: SparkSession, tmp_path: Path) -> None:
    files = tmp_path / "in"
    for number in range(13):  # past a compaction of the log
        home = files / f"day={number % 2}"
        home.mkdir(parents=True, exist_ok=True)
        (home / f"f {number}[x].json").write_text(f'{{"id": {number}}}\n')

    def build(session: Any) -> DataFrame:
        reader = session.readStream.schema("id long, day int").option("maxFilesPerTrigger", 1)
        found: DataFrame = reader.json(str(files))
        return found

    run = Run(spark, tmp_path, build)
    run.run()
    (files / "day=0" / "later.json").write_text('{"id": 99}\n')
    assert rows(run.form().df) == run.written()
    assert sum(rows(run.form().df).values()) == 13
    parts = [run.form(end=4), run.form(start=4, end=11), run.form(start=11)]
    assert [sum(rows(each.df).values()) for each in parts] == [5, 7, 1]
    assert sum((rows(each.df) for each in parts), Counter[Any]()) == run.written()


def test_two_sources_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(f"{name} 1\n{name} 2\n")

    def build(session: Any) -> DataFrame:
        second = session.readStream.text(str(tmp_path / "b"))  # read first, used second
        first: DataFrame = session.readStream.text(str(tmp_path / "a"))
        return first.unionByName(second)

    run = Run(spark, tmp_path, build)
    run.run()
    (tmp_path / "b" / "g").write_text("b 3\n")
    run.run()
    assert sum(run.written().values()) == 5
    assert rows(run.form().df) == run.written()
    assert sum(rows(run.form(start=0).df).values()) == 1


def test_one_source_that_is_used_twice(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text("1\n2\n")

    def build(session: Any) -> DataFrame:
        df: DataFrame = session.readStream.text(str(tmp_path / "in"))
        return df.unionByName(df.where("value > 1"))

    run = Run(spark, tmp_path, build)
    run.run()
    assert sum(run.written().values()) == 3
    assert rows(run.form().df) == run.written()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda df: df.dropDuplicates(["value"]), "it keeps state: dropDuplicates"),
        (lambda df: df.groupBy("value").count(), "it keeps state: an aggregation"),
        (lambda df: df.distinct(), "it keeps state"),
        (lambda df: df.limit(3), "it keeps state: limit"),
        (
            lambda df: df.alias("a").join(df.alias("b"), "value"),
            "it keeps state: a join of two streams",
        ),
    ],
)
def test_state_is_refused_by_name(
    *, spark: SparkSession, tmp_path: Path, change: Callable[[DataFrame], DataFrame], reason: str
) -> None:
    (tmp_path / "in").mkdir()
    declared = Declared(
        name="s",
        build=lambda session: change(session.readStream.text(str(tmp_path / "in"))),
        sinks=(),
        options={},
    )
    found = batch_form(spark, declared, {})
    assert isinstance(found, NoBatchForm)
    assert reason in found.reason


def test_what_does_not_go_through_the_session_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()

    def build(_: Any) -> DataFrame:
        return spark.readStream.text(str(tmp_path / "in"))

    found = batch_form(spark, Declared(name="s", build=build, sinks=(), options={}), {})
    assert found == NoBatchForm("its function reads a stream other than by the session it is given")


def test_what_can_vary_is_a_doubt(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    static = spark.createDataFrame([("x",)], "value string")

    def doubts(change: Callable[[DataFrame], DataFrame]) -> tuple[str, ...]:
        found = batch_form(
            spark,
            Declared(
                name="s",
                build=lambda session: change(session.readStream.text(str(tmp_path / "in"))),
                sinks=(),
                options={},
            ),
            {},
        )
        assert isinstance(found, BatchForm), found
        return found.all_doubts

    assert doubts(lambda df: df.select(F.upper("value"))) == ()
    assert "random" in doubts(lambda df: df.withColumn("r", F.rand()))[0]
    assert "current time" in doubts(lambda df: df.withColumn("t", F.current_timestamp()))[0]
    assert "not a stream" in doubts(lambda df: df.join(static, "value"))[0]


def test_a_delta_table_beside_a_stream_is_known_by_its_place_or_pinned(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Delta's relation is a class of its own, without a name."""
    (tmp_path / "in").mkdir()
    table = str(tmp_path / "table")
    spark.createDataFrame([("x",)], "value string").write.format("delta").save(table)
    stream = spark.readStream.text(str(tmp_path / "in"))
    now = spark.read.format("delta")
    (side,) = static_sides(stream.join(now.load(table), "value"))
    assert (side.delta, side.is_constant) == (f"file:{table}", False)
    (pinned,) = static_sides(stream.join(now.option("versionAsOf", 0).load(table), "value"))
    assert (pinned.delta, pinned.is_constant) == (None, True)
