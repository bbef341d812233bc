"""Decides whether a batch can be computed again after a kill, or must be materialised first.

Only plans that are proven to repeat are computed again. Everything that is not on a list here, in
`repeatable_expressions` or in `repeatable_sources` is materialised, which costs one Parquet write
and is always right.

Proven means: for the same offsets, Spark gives the same multiset of rows or raises an error, also
on another machine, in another session time zone and with ANSI mode switched on or off. It does not
cover an edited query, another version of Spark, or a change of other `spark.sql` settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.spark.classic.jvm import Java
from holdfast.spark.classic.plan import SOURCES, analysed, each, kind_of
from holdfast.spark.classic.repeatable_expressions import ProvenExpressions
from holdfast.spark.classic.repeatable_sources import is_proven_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PACKAGE = "org.apache.spark.sql.catalyst.plans.logical."
_NODES = frozenset(
    _PACKAGE + name
    for name in ("EventTimeWatermark", "Filter", "Generate", "Project", "SubqueryAlias", "Union")
)
"""Each decides row by row. A watermark drops rows only in an operator with state, and those are not
here: what they give depends on the batches before. Nor is anything that depends on the order of
rows (`limit`), or on data that is not in the batch (joins)."""


def is_repeatable(df: DataFrame) -> bool:
    """Return whether a streaming query is proven to give the same rows for the same offsets."""
    spark = df.sparkSession
    proven = ProvenExpressions.of(spark)

    def is_proven(node: Java) -> bool:
        if kind_of(node) in SOURCES:
            return is_proven_source(node, spark)
        return (
            str(node.getClass().getName()) in _NODES
            and all(proven.has(expression) for expression in each(node.expressions()))
            and all(is_proven(child) for child in each(node.children()))
        )

    plan = analysed(df)
    return bool(plan.deterministic()) and is_proven(plan)
