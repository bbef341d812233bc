"""Two tables as multisets: every value that differs is seen, and every one that does not is not."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.proof.row_hash import SALTS, row_hash
from holdfast.proof.tables import prove_tables
from holdfast.proof.values import Fault

pytestmark = pytest.mark.sampled(1)
"""`HOLDFAST_ALL=1` runs all of them."""

DIFFERENT: list[tuple[str, list[str]]] = [
    ("a int, b int", ["(NULL, 1)", "(1, NULL)", "(NULL, NULL)", "(1, 1)"]),
    ("a double", ["(double('0.0'))", "(double('-0.0'))", "(double('NaN'))", "(NULL)"]),
    ("a float", ["(float('0.0'))", "(float('-0.0'))", "(float('inf'))", "(float('-inf'))"]),
    ("a double", ["(0.1D + 0.2D)", "(0.3D)", "(4.9E-324D)"]),
    ("a string, b string", ["('ab', 'c')", "('a', 'bc')", "('', 'abc')", "('abc', NULL)"]),
    ("a string", ["('')", "(NULL)", "(' ')", "('A')", "('a')"]),
    ("a binary", ["(X'00')", "(X'')", "(X'0000')", "(NULL)"]),
    ("a array<int>, b array<int>", ["(array(1), array(2, 3))", "(array(1, 2), array(3))"]),
    ("a array<int>", ["(array(NULL, 1))", "(array(1, NULL))", "(array(1))", "(array())", "(NULL)"]),
    ("a array<array<int>>", ["(array(array(), array(1)))", "(array(array(1), array()))"]),
    (
        "a map<string,int>",
        ["(map('a', 1, 'b', 2))", "(map('a', 2, 'b', 1))", "(map('a', NULL))", "(map())", "(NULL)"],
    ),
    (
        "a struct<x: int, y: struct<z: int>>",
        [
            "(NULL)",
            "(struct(NULL, NULL))",
            "(struct(NULL, struct(NULL)))",
            "(struct(1, struct(2)))",
            "(struct(2, struct(1)))",
        ],
    ),
    ("a decimal(38,2)", ["(1.00)", "(10.00)", "(-1.00)", "(NULL)"]),
    ("a timestamp", ["(timestamp_micros(1))", "(timestamp_micros(2))"]),
    ("a date", ["(date '2026-01-01')", "(date '2026-01-02')"]),
    ("a boolean", ["(true)", "(false)", "(NULL)"]),
    ("a array<double>", ["(array(double('-0.0')))", "(array(double('0.0')))"]),
]


def table(spark: SparkSession, schema: str, values: list[str]) -> DataFrame:
    rows = spark.sql(" UNION ALL ".join(f"SELECT {value[1:-1]}" for value in values))
    named = spark.createDataFrame([], schema).schema
    return rows.toDF(*named.names).select(*(F.col(to.name).cast(to.dataType) for to in named))


def test_every_value_differs_from_every_other_one(spark: SparkSession) -> None:
    for schema, values in DIFFERENT:
        df = table(spark, schema, values)
        for salt in SALTS:
            hashes = df.select(row_hash(df, df.columns, salt=salt)).collect()
            assert len(set(hashes)) == len(values), schema
        one = table(spark, schema, values[-1:])  # of which Spark knows that it is never NULL
        (again,) = one.select(row_hash(one, one.columns, salt=SALTS[1])).collect()
        assert again == hashes[-1], schema


def test_a_map_has_no_order_and_nan_is_one_value(spark: SparkSession) -> None:
    one = table(spark, "a map<string,int>, b double", ["(map('a', 1, 'b', 2), double('NaN'))"])
    other = table(
        spark, "a map<string,int>, b double", ["(map('b', 2, 'a', 1), sqrt(double('-1')))"]
    )
    assert prove_tables(one, other).exact


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    df = spark.range(5_000).select(
        (F.col("id") % 4).cast("int").alias("partition"),
        F.floor(F.col("id") / 4).alias("offset"),
        F.when(F.col("id") % 7 > 0, F.concat(F.lit("v"), "id")).alias("value"),
    )
    return df.cache()


def test_one_fault_of_each_kind_is_named_with_its_row(rows: DataFrame) -> None:
    lost = rows.where("NOT (partition = 1 AND offset = 7)")
    found = prove_tables(rows, lost)
    assert (found.expected, found.found, found.lost) == (5_000, 4_999, 1)
    (example,) = found.examples
    assert example.fault is Fault.LOST
    assert example.expected == {"partition": 1, "offset": 7, "value": "v29"}
    assert example.found is None

    again = rows.union(rows.where("partition = 1 AND offset = 7"))
    found = prove_tables(rows, again)
    assert (found.lost, found.duplicated, found.altered, found.unexpected) == (0, 1, 0, 0)
    (example,) = found.examples
    assert (example.fault, example.expected_copies, example.found_copies) == (
        Fault.DUPLICATED,
        1,
        2,
    )

    is_it = (F.col("partition") == 1) & (F.col("offset") == 7)
    altered = rows.withColumn("value", F.when(is_it, "other").otherwise(F.col("value")))
    found = prove_tables(rows, altered)
    assert (found.lost, found.duplicated, found.altered, found.unexpected) == (0, 0, 1, 0)
    (example,) = found.examples
    assert example.fault is Fault.ALTERED
    assert example.expected is not None
    assert example.found is not None
    assert (example.expected["value"], example.found["value"]) == ("v29", "other")

    more = rows.union(rows.limit(1).withColumn("offset", F.lit(10_000).cast("long")))
    found = prove_tables(rows, more)
    assert (found.lost, found.duplicated, found.altered, found.unexpected) == (0, 0, 0, 1)

    # Nothing names a row: it cannot be told that it is the same one.
    found = prove_tables(rows.select("value"), altered.select("value"))
    assert (found.lost, found.unexpected) == (1, 1)


def test_nothing_at_all_and_everything_wrong(rows: DataFrame) -> None:
    nothing = rows.where("false")
    assert prove_tables(nothing, nothing).exact
    found = prove_tables(rows, nothing)
    assert (found.expected, found.found, found.lost) == (5_000, 0, 5_000)
    assert len(found.examples) == 10
    found = prove_tables(nothing, rows, keys=["partition", "offset"])
    assert found.unexpected == 5_000


def test_figures_are_those_of_the_multisets(spark: SparkSession, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(3):
        wanted = [(chance.randrange(40),) for _ in range(60)]
        there = [(chance.randrange(40),) for _ in range(60)]
        found = prove_tables(
            spark.createDataFrame(wanted, "a int"), spark.createDataFrame(there, "a int")
        )
        one, other = Counter(wanted), Counter(there)
        surplus = other - one
        foreign = sum(count for row, count in surplus.items() if row not in one)
        assert found.lost == (one - other).total()
        assert found.unexpected == foreign
        assert found.duplicated == surplus.total() - foreign
        assert (found.expected, found.found) == (60, 60)


@pytest.mark.parametrize(
    ("schema", "message"),
    [("a string", "column a of the table is string"), ("b int", "no column a")],
)
def test_tables_of_other_columns_are_refused(
    spark: SparkSession, schema: str, message: str
) -> None:
    wanted: Any = spark.createDataFrame([(1,)], "a int")
    with pytest.raises(hf.ConfigError, match=message):
        prove_tables(wanted, spark.createDataFrame([], schema))
