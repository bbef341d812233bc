"""`holdfast check` on real plans: what it says of an edit is what Spark then does."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.edits.catalogue import EDITS
from campaigns.edits.edit import Edit, Scene
from campaigns.edits.run import run
from campaigns.streams.sensors_scenario import make_scenario, send
from examples.sensors import guarded
from examples.sensors.messages import make_messages
from examples.sensors.settings import DSN_NAME
from holdfast.checkpoint.read import read_checkpoint
from holdfast.evidence.state_columns import find_changes, recorded_state
from holdfast.rules.compatibility import Compatibility
from holdfast.spark.classic.describe import describe_query
from holdfast.storage import open_reader
from lab import Kafka, Postgres
from tests.spark.file_stream import Stream, wait_until_given_up
from tests.spark.unchanged import snapshot

ONCE = {"availableNow": True}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_the_verdict_on_an_edit_is_what_spark_confirms(
    *, edit: Edit, spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = tmp_path / f"edit-{EDITS.index(edit)}"
    place.mkdir()
    scene = Scene(place=place, kafka=lambda: request.getfixturevalue("kafka"))
    assert run(edit, spark, scene).problems(edit) == []


def queries(spark: SparkSession, files: Path) -> dict[str, tuple[DataFrame, str]]:
    """Return queries with state, of every shape that is compared, each with its output mode."""
    readings = spark.readStream.schema("a string, b string, x long, y long, t timestamp")
    source = readings.json(str(files))
    timed = source.withWatermark("t", "10 minutes")
    other = source.withWatermark("t", "1 minute").select(
        F.col("a").alias("a2"), F.col("b").alias("b2"), F.col("t").alias("t2"), F.col("y")
    )
    near = "a = a2 AND b = b2 AND t2 >= t AND t2 <= t + INTERVAL 5 MINUTES"
    joined = timed.drop("y").join(other, F.expr(near))
    windows = timed.groupBy(F.window("t", "5 minutes"), F.upper("a"))
    return {
        "aggregates": (timed.groupBy("a", "b").agg(F.sum("x"), F.avg("y"), F.first("x")), "update"),
        "windows": (windows.agg(F.collect_list("b"), F.max("b").alias("last")), "append"),
        "two": (timed.dropDuplicates(["a", "t"]).groupBy("a").agg(F.sum("x")), "update"),
        "all columns": (source.distinct(), "append"),
        "within": (timed.dropDuplicatesWithinWatermark(["b", "a"]), "append"),
        "join": (joined, "append"),
        "join and windows": (joined.groupBy(F.window("t", "1 hour")).agg(F.sum("y")), "append"),
        "sessions": (timed.groupBy("a", F.session_window("t", "5 minutes")).count(), "append"),
        "limit": (source.limit(3), "append"),
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    [
        *("aggregates", "windows", "two", "all columns", "within"),
        *("join", "join and windows", "sessions", "limit"),
    ],
)
def test_the_plan_has_the_columns_that_spark_then_writes(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    files, place = tmp_path / "in", tmp_path / "checkpoint"
    files.mkdir()
    (files / "f").write_text('{"a":"1","b":"2","x":1,"y":2,"t":"2026-01-01T00:00:00Z"}\n')
    df, mode = queries(spark, files)[name]
    contract, state = describe_query(df, sinks=(), output_mode=mode, sink_places=())
    assert None not in state
    assert len(state) == len(contract.operators) > 0
    writer = df.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
    writer.option("checkpointLocation", str(place)).start().awaitTermination()
    found = read_checkpoint(open_reader(str(place)))
    assert list(find_changes(found, state, contract.operators)) == []
    for planned, operator in zip(state, found.state, strict=True):
        assert planned is not None
        assert set(planned.stores) <= set(recorded_state(operator))


def counted(stream: Stream, *columns: str) -> DataFrame:
    rows = stream.source.select("value", F.upper("value").alias("name"))
    return rows.groupBy(*columns).count()


@pytest.mark.parametrize("partitions", ["2", "16"])
def test_a_guarded_start_refuses_swapped_columns_of_state(stream: Stream, partitions: str) -> None:
    """Also where state has more partitions than a start looks at."""
    stream.spark = stream.spark.newSession()
    stream.spark.conf.set("spark.sql.shuffle.partitions", partitions)
    into = hf.ForeachBatch(lambda batch, _: batch.collect())
    given = {"into": into, "outputMode": "update"}
    stream.run(df=counted(stream, "value", "name"), **given)
    stream.add(3)
    with pytest.raises(hf.StartRefusedError) as found:
        stream.run(df=counted(stream, "name", "value"), **given)
    assert [each.code for each in found.value.findings] == ["HF510"]
    assert "was (value string, name string) and is (name string, value string)" in str(found.value)
    stream.run(df=counted(stream, "value", "name"), **given)


def test_unchanged_code_of_the_sensors_is_compatible(
    *, spark: SparkSession, kafka: Kafka, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = make_messages(400, seed=7)
    scenario = make_scenario(
        kafka, postgres, messages_per_batch=200, serving_table=guarded.SERVING_TABLES
    )
    monkeypatch.setenv(DSN_NAME, scenario.dsn)
    pipeline = guarded.make_pipeline(scenario)
    before = pipeline.check(spark)
    assert {each.verdict for each in before} == {Compatibility.COMPATIBLE}
    assert {each.newest_batch for each in before} == {None}
    send(kafka, scenario.topic, sent)
    guarded.run_once(spark, scenario)
    wait_until_given_up()
    found = guarded.make_pipeline(scenario).check(spark)
    assert {each.stream: each.verdict for each in found} == dict.fromkeys(
        pipeline.streams, Compatibility.COMPATIBLE
    )
    assert None not in {each.newest_batch for each in found}


class Lake:
    """One stream into a table of PostgreSQL, declared as a pipeline."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def declare(self, **more: object) -> hf.Pipeline:
        pipeline = hf.Pipeline("lake", root=str(self.stream.root))
        given = {"into": self.stream.sink(), **more}
        pipeline.stream("readings", **given)(lambda _: self.stream.source)  # type: ignore[arg-type]
        return pipeline


def test_nothing_is_written_and_a_running_stream_is_not_disturbed(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    query = stream.start(trigger={"processingTime": "100 milliseconds"})
    query.processAllAvailable()
    caplog.set_level(logging.ERROR, "holdfast")
    leases = sorted((stream.root / "_holdfast/readings/leases").iterdir())
    (found,) = Lake(stream).declare().check(stream.spark)
    assert found.verdict is Compatibility.COMPATIBLE
    assert sorted((stream.root / "_holdfast/readings/leases").iterdir()) == leases
    assert query.isActive
    query.stop()
    wait_until_given_up()
    before = snapshot((stream.root,), stream.dsn)
    Lake(stream).declare(outputMode="update").check(stream.spark)
    assert snapshot((stream.root,), stream.dsn) == before


def test_a_sink_that_cannot_be_reached_is_unknown(stream: Stream) -> None:
    stream.run()
    sink = hf.Postgres(lambda: "postgresql://127.0.0.1:9/none", table="readings")
    (found,) = Lake(stream).declare(into=sink).check(stream.spark)
    assert found.verdict is Compatibility.UNKNOWN
    assert found.findings == ()
    assert "could not be looked at" in found.unknown[0]


def test_a_stream_that_cannot_be_built_is_unknown_once_it_has_run(stream: Stream) -> None:
    stream.run()
    lake = Lake(stream).declare()
    lake.stream("new", into=hf.ForeachBatch(print))(
        lambda spark: spark.readStream.table("no_such_table")
    )
    readings, new = lake.check(stream.spark)
    assert (readings.verdict, new.verdict) == (Compatibility.COMPATIBLE, Compatibility.COMPATIBLE)
    broken = hf.Pipeline("lake", root=str(stream.root))
    broken.stream("readings", into=stream.sink())(
        lambda spark: spark.readStream.table("no_such_table")
    )
    (found,) = broken.check(stream.spark)
    assert found.verdict is Compatibility.UNKNOWN
    assert "could not be built" in found.unknown[0]


def test_another_root_and_one_stream_are_checked(stream: Stream, tmp_path: Path) -> None:
    stream.run()
    (found,) = Lake(stream).declare().check(stream.spark, root=str(tmp_path / "nothing"))
    assert found.newest_batch is None
    with pytest.raises(hf.HoldfastError, match="no stream other"):
        Lake(stream).declare().check(stream.spark, only=["other"])
