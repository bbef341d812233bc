"""The edits: of sources, of state, of settings."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from campaigns.edits.edit import Edit, Scene
from campaigns.edits.nullability import NULLABILITY
from campaigns.edits.readings import LINES, TIME, add, feed, feed_two, read
from holdfast.rules.compatibility import Compatibility

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _feed_topics(scene: Scene, number: int) -> None:
    broker = scene.kafka()
    for topic in (scene.topic, f"{scene.topic}-other"):
        if not number:
            broker.create_topic(topic, partitions=1)
        broker.produce(topic, [(0, None, f"{topic} {number}".encode(), 1_000 * TIME)])


def _totals(spark: SparkSession, scene: Scene) -> DataFrame:
    return read(spark, scene).groupBy("a", "b").agg(F.sum("x"), F.sum("y"))


def _distinct(spark: SparkSession, scene: Scene) -> DataFrame:
    return read(spark, scene).dropDuplicates(["a", "b"])


def _windows(spark: SparkSession, scene: Scene, delay: str = "1 hour") -> DataFrame:
    marked = read(spark, scene).withWatermark("t", delay)
    return marked.groupBy(F.window("t", "10 minutes")).agg(F.sum("x"))


def _days(spark: SparkSession, scene: Scene) -> DataFrame:
    return read(spark, scene).groupBy(F.to_date("t").alias("day")).agg(F.sum("x"))


def _union(spark: SparkSession, scene: Scene) -> DataFrame:
    return read(spark, scene).union(read(spark, scene, "other"))


def _feed_table(scene: Scene, number: int) -> None:
    """Add files, and rows to a Delta table beside them."""
    add(scene, "in", number, *LINES)
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
    readings = read(spark, scene).withColumn("b", F.length("b"))
    return readings.groupBy("a", "b").agg(F.sum("x"), F.sum("y"))


def _deduplicated(spark: SparkSession, scene: Scene) -> DataFrame:
    readings = read(spark, scene).dropDuplicates(["a"])
    return readings.groupBy("a", "b").agg(F.sum("x"), F.sum("y"))


def _renamed(spark: SparkSession, scene: Scene) -> DataFrame:
    readings = read(spark, scene).withColumnRenamed("a", "sensor")
    return readings.groupBy("sensor", "b").agg(F.sum("x"), F.sum("y"))


_SAME, _NOTES = Compatibility.COMPATIBLE, Compatibility.WITH_NOTES
_BAD = Compatibility.INCOMPATIBLE


def _of_totals(name: str, after: object, expects: Compatibility, **more: object) -> Edit:
    given = {"name": name, "before": _totals, "after": after, "expects": expects, "feed": feed}
    return Edit(**{**given, "mode": "update", **more})  # type: ignore[arg-type]


EDITS = (
    _of_totals("nothing is changed", _totals, _SAME),
    _of_totals("a filter is added", lambda s, c: _totals(s, c).where("a <> 'z'"), _SAME),
    _of_totals("the type of a key is changed", _key_retyped, _BAD),
    _of_totals(
        "a source is added",
        lambda s, c: _union(s, c).groupBy("a", "b").agg(F.sum("x"), F.sum("y")),
        _BAD,
        feed=feed_two,
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
        lambda s, c: read(s, c).groupBy("b", "a").agg(F.sum("x"), F.sum("y")),
        _BAD,
    ),
    _of_totals(
        "two sums are swapped",
        lambda s, c: read(s, c).groupBy("a", "b").agg(F.sum("y"), F.sum("x")),
        _BAD,
    ),
    _of_totals(
        "a sum becomes a maximum",
        lambda s, c: read(s, c).groupBy("a", "b").agg(F.sum("x"), F.max("y")),
        _BAD,
    ),
    _of_totals("a grouping column is renamed", _renamed, _NOTES),
    _of_totals("the output mode is changed", _totals, _NOTES, mode_after="complete"),
    Edit(
        name="the keys of dropDuplicates are swapped",
        before=_distinct,
        after=lambda s, c: read(s, c).dropDuplicates(["b", "a"]),
        feed=feed,
        expects=_BAD,
    ),
    Edit(
        name="the watermark delay is shortened",
        before=_windows,
        after=lambda s, c: _windows(s, c, "1 second"),
        feed=feed,
        mode="update",
        expects=_NOTES,
    ),
    Edit(
        name="the session time zone is changed",
        before=_days,
        after=_days,
        feed=feed,
        mode="update",
        settings={"spark.sql.session.timeZone": "Asia/Tokyo"},
        expects=_NOTES,
    ),
    Edit(
        name="the two sources of a union are swapped",
        before=_union,
        after=lambda s, c: read(s, c, "other").union(read(s, c)),
        feed=feed_two,
        expects=_BAD,
    ),
    Edit(
        name="files are read as a table",
        before=lambda s, c: read(s, c).select("a"),
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
    *NULLABILITY,
)
