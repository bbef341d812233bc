"""Edits that change which columns of state can be NULL: joins, filters and `coalesce`.

Spark refuses a column of state that can be NULL and could not be before. Nothing in the code names
it: the optimizer infers it from joins and filters.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from campaigns.edits.edit import Build, Edit, Scene
from campaigns.edits.readings import feed, feed_two, read
from holdfast.rules.compatibility import Compatibility

_SAME, _BAD = Compatibility.COMPATIBLE, Compatibility.INCOMPATIBLE


def _join(
    spark: SparkSession, scene: Scene, how: str = "inner", *, marked: bool = True, near: bool = True
) -> DataFrame:
    """Join two streams, with a watermark on both and a limit in time unless said otherwise."""
    left = read(spark, scene).withWatermark("t", "1 hour").alias("l")
    right = read(spark, scene, "other")
    right = (right.withWatermark("t", "1 hour") if marked else right).alias("r")
    limit = " and r.t between l.t and l.t + interval 1 hour" if near else ""
    joined = left.join(right, F.expr(f"l.b = r.b{limit}"), how)
    return joined.select(F.col("l.a").alias("a"), F.col("r.a").alias("o"))


def _largest(spark: SparkSession, scene: Scene, *, where: str = "") -> DataFrame:
    readings = read(spark, scene)
    return (readings.where(where) if where else readings).groupBy("a").agg(F.max("x"))


def _by_key(spark: SparkSession, scene: Scene, key: Column) -> DataFrame:
    return read(spark, scene).groupBy(key.alias("a")).agg(F.sum("x"))


def _some(spark: SparkSession, scene: Scene, *, where: str = "") -> DataFrame:
    readings = read(spark, scene)
    return (readings.where(where) if where else readings).dropDuplicates(["a"]).select("a")


def _known(column: str) -> Column:
    return F.coalesce(F.col(column), F.lit(""))


def _grouped(name: str, before: Build, after: Build, *, expects: Compatibility) -> Edit:
    return Edit(name=name, before=before, after=after, feed=feed, mode="update", expects=expects)


NULLABILITY = (
    _grouped(
        "a filter of NULL is removed before a maximum",
        lambda s, c: _largest(s, c, where="x is not null"),
        _largest,
        expects=_SAME,
    ),
    _grouped(
        "a filter of NULL is added before a maximum",
        _largest,
        lambda s, c: _largest(s, c, where="x is not null"),
        expects=_SAME,
    ),
    _grouped(
        "a filter of NULL in the key is removed",
        lambda s, c: _largest(s, c, where="a is not null"),
        _largest,
        expects=_SAME,
    ),
    _grouped(
        "coalesce is removed from the key",
        lambda s, c: _by_key(s, c, _known("a")),
        lambda s, c: _by_key(s, c, F.col("a")),
        expects=_BAD,
    ),
    _grouped(
        "coalesce is added to the key",
        lambda s, c: _by_key(s, c, F.col("a")),
        lambda s, c: _by_key(s, c, _known("a")),
        expects=Compatibility.WITH_NOTES,
    ),
    _grouped(
        "coalesce is removed inside an array in the key",
        lambda s, c: _by_key(s, c, F.array(_known("a"))),
        lambda s, c: _by_key(s, c, F.array("a")),
        expects=_BAD,
    ),
    Edit(
        name="a filter of NULL is removed before dropDuplicates",
        before=lambda s, c: _some(s, c, where="a is not null"),
        after=_some,
        feed=feed,
        expects=_SAME,
    ),
    Edit(
        name="an inner join becomes a left outer join",
        before=_join,
        after=lambda s, c: _join(s, c, "leftOuter"),
        feed=feed_two,
        expects=_BAD,
    ),
    Edit(
        name="a left outer join becomes an inner join",
        before=lambda s, c: _join(s, c, "leftOuter"),
        after=_join,
        feed=feed_two,
        expects=_SAME,
    ),
    Edit(
        name="the watermark of one side of a join is removed",
        before=_join,
        after=lambda s, c: _join(s, c, marked=False),
        feed=feed_two,
        expects=_BAD,
    ),
    Edit(
        name="the limit in time of a join is removed",
        before=_join,
        after=lambda s, c: _join(s, c, near=False),
        feed=feed_two,
        expects=_BAD,
    ),
)
