"""The edits: of sources, of state, of settings."""

from __future__ import annotations

import json
import os

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from campaigns.edits.edit import Edit, Scene
from holdfast.rules.compatibility import Compatibility

_SCHEMA = "a string, b string, x long, y long, t timestamp"
_TIME = 1_700_000_000
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_LINES = (
    ("p", "q", 1, 100, "2026-01-01T23:30:00Z"),
    ("p", "q", 3, 300, "2026-01-01T23:35:00Z"),
    ("r", "s", 2, 200, "2026-01-01T23:40:00Z"),
)


def _add(scene: Scene, name: str, number: int, *lines: tuple[object, ...]) -> None:
    path = scene.files(name) / f"f{number:03}"
    rows = (dict(zip(("a", "b", "x", "y", "t"), line, strict=True)) for line in lines)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    os.utime(path, (_TIME + number, _TIME + number))  # read in this order


def _feed(scene: Scene, number: int) -> None:
    """Add the same readings again, and later one that is half an hour late."""
    _add(scene, "in", number, *_LINES)
    if number:
        _add(scene, "in", number + 1, ("late", "q", 5, 500, "2026-01-01T23:00:00Z"))


def _feed_two(scene: Scene, number: int) -> None:
    _add(scene, "in", number, *_LINES)
    _add(scene, "other", number, (f"o{number}", "q", 1, 1, "2026-01-01T23:50:00Z"))


def _feed_topics(scene: Scene, number: int) -> None:
    broker = scene.kafka()
    for topic in (scene.topic, f"{scene.topic}-other"):
        if not number:
            broker.create_topic(topic, partitions=1)
        broker.produce(topic, [(0, None, f"{topic} {number}".encode(), 1_000 * _TIME)])


def _read(spark: SparkSession, scene: Scene, name: str = "in") -> DataFrame:
    reader = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.json(str(scene.files(name)))


def _totals(spark: SparkSession, scene: Scene) -> DataFrame:
    return _read(spark, scene).groupBy("a", "b").agg(F.sum("x"), F.sum("y"))


def _distinct(spark: SparkSession, scene: Scene) -> DataFrame:
    return _read(spark, scene).dropDuplicates(["a", "b"])


def _windows(spark: SparkSession, scene: Scene, delay: str = "1 hour") -> DataFrame:
    marked = _read(spark, scene).withWatermark("t", delay)
    return marked.groupBy(F.window("t", "10 minutes")).agg(F.sum("x"))


def _days(spark: SparkSession, scene: Scene) -> DataFrame:
    return _read(spark, scene).groupBy(F.to_date("t").alias("day")).agg(F.sum("x"))


def _union(spark: SparkSession, scene: Scene) -> DataFrame:
    return _read(spark, scene).union(_read(spark, scene, "other"))


def _feed_table(scene: Scene, number: int) -> None:
    """Add files, and rows to a Delta table beside them."""
    _add(scene, "in", number, *_LINES)
    spark = SparkSession.active()
    rows = spark.createDataFrame([("p",)], "a string")
    rows.write.format("delta").mode("append").save(str(scene.place / "table"))


def _table(spark: SparkSession, scene: Scene) -> DataFrame:
    return spark.readStream.format("delta").load(str(scene.place / "table"))


def _topics(spark: SparkSession, scene: Scene, *topics: str) -> DataFrame:
    reader = spark.readStream.format("kafka").option("startingOffsets", "earliest")
    reader = reader.option("kafka.bootstrap.servers", scene.kafka().address)
    found = reader.option("subscribe", ",".join(topics or (scene.topic,))).load()
    return found.select(F.col("value").cast("string"))


def _key_retyped(spark: SparkSession, scene: Scene) -> DataFrame:
    readings = _read(spark, scene).withColumn("b", F.length("b"))
    return readings.groupBy("a", "b").agg(F.sum("x"), F.sum("y"))


def _deduplicated(spark: SparkSession, scene: Scene) -> DataFrame:
    readings = _read(spark, scene).dropDuplicates(["a"])
    return readings.groupBy("a", "b").agg(F.sum("x"), F.sum("y"))


def _renamed(spark: SparkSession, scene: Scene) -> DataFrame:
    readings = _read(spark, scene).withColumnRenamed("a", "sensor")
    return readings.groupBy("sensor", "b").agg(F.sum("x"), F.sum("y"))


_SAME, _NOTES = Compatibility.COMPATIBLE, Compatibility.WITH_NOTES
_BAD = Compatibility.INCOMPATIBLE


def _of_totals(name: str, after: object, expects: Compatibility, **more: object) -> Edit:
    given = {"name": name, "before": _totals, "after": after, "expects": expects, "feed": _feed}
    return Edit(**{**given, "mode": "update", **more})  # type: ignore[arg-type]


EDITS = (
    _of_totals("nothing is changed", _totals, _SAME),
    _of_totals("a filter is added", lambda s, c: _totals(s, c).where("a <> 'z'"), _SAME),
    _of_totals("the type of a key is changed", _key_retyped, _BAD),
    _of_totals(
        "a source is added",
        lambda s, c: _union(s, c).groupBy("a", "b").agg(F.sum("x"), F.sum("y")),
        _BAD,
        feed=_feed_two,
    ),
    _of_totals("a stateful operator is added", _deduplicated, _BAD),
    _of_totals(
        "the shuffle partitions are changed",
        _totals,
        _NOTES,
        settings={"spark.sql.shuffle.partitions": "3"},
    ),
    _of_totals(
        "the state store is changed",
        _totals,
        _NOTES,
        settings={"spark.sql.streaming.stateStore.providerClass": _ROCKSDB},
    ),
    _of_totals(
        "the grouping columns are swapped",
        lambda s, c: _read(s, c).groupBy("b", "a").agg(F.sum("x"), F.sum("y")),
        _BAD,
    ),
    _of_totals(
        "two sums are swapped",
        lambda s, c: _read(s, c).groupBy("a", "b").agg(F.sum("y"), F.sum("x")),
        _BAD,
    ),
    _of_totals(
        "a sum becomes a maximum",
        lambda s, c: _read(s, c).groupBy("a", "b").agg(F.sum("x"), F.max("y")),
        _BAD,
    ),
    _of_totals("a grouping column is renamed", _renamed, _NOTES),
    _of_totals("the output mode is changed", _totals, _NOTES, mode_after="complete"),
    Edit(
        name="the keys of dropDuplicates are swapped",
        before=_distinct,
        after=lambda s, c: _read(s, c).dropDuplicates(["b", "a"]),
        feed=_feed,
        expects=_BAD,
    ),
    Edit(
        name="the watermark delay is shortened",
        before=_windows,
        after=lambda s, c: _windows(s, c, "1 second"),
        feed=_feed,
        mode="update",
        expects=_NOTES,
    ),
    Edit(
        name="the session time zone is changed",
        before=_days,
        after=_days,
        feed=_feed,
        mode="update",
        settings={"spark.sql.session.timeZone": "Asia/Tokyo"},
        expects=_NOTES,
    ),
    Edit(
        name="the two sources of a union are swapped",
        before=_union,
        after=lambda s, c: _read(s, c, "other").union(_read(s, c)),
        feed=_feed_two,
        expects=_BAD,
    ),
    Edit(
        name="files are read as a table",
        before=lambda s, c: _read(s, c).select("a"),
        after=_table,
        feed=_feed_table,
        expects=_BAD,
    ),
    Edit(
        name="a topic is replaced",
        before=_topics,
        after=lambda s, c: _topics(s, c, f"{c.topic}-other"),
        feed=_feed_topics,
        expects=_BAD,
    ),
    Edit(
        name="a topic is added",
        before=_topics,
        after=lambda s, c: _topics(s, c, c.topic, f"{c.topic}-other"),
        feed=_feed_topics,
        expects=_NOTES,
    ),
)
