"""What the plan of a streaming query says about running the same query as a batch job.

A query without state decides row by row: over a range of offsets it gives the union of what its
batches gave. A query with state does not, because its output depends on where batches end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.redact import redact_location
from holdfast.spark.classic.jvm import Java
from holdfast.spark.classic.plan import SOURCES, analysed, each, kind_of, walk, walk_streaming
from holdfast.spark.plans import SourceNode, StaticSide

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATEFUL = {
    "Aggregate": "an aggregation",
    "Deduplicate": "dropDuplicates",
    "DeduplicateWithinWatermark": "dropDuplicatesWithinWatermark",
    "Distinct": "distinct",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "GlobalLimit": "limit",
    "LocalLimit": "limit",
    "TransformWithState": "transformWithState",
    "TransformWithStateInPandas": "transformWithState",
    "TransformWithStateInPySpark": "transformWithState",
}
_VARYING = {
    "CurrentBatchTimestamp": "the time of the batch",
    "CurrentDate": "the current date",
    "CurrentTimestamp": "the current time",
    "Exists": "a subquery",
    "InputFileBlockLength": "how files were split",
    "InputFileBlockStart": "how files were split",
    "ListQuery": "a subquery",
    "LocalTimestamp": "the current time",
    "Now": "the current time",
    "ScalarSubquery": "a subquery",
}
"""Expressions whose value is not a function of the row, and how people call what they give."""


def source_nodes(df: DataFrame) -> tuple[SourceNode, ...]:
    """Return the sources of a streaming DataFrame in the order of its offset log."""
    nodes = walk_streaming(analysed(df))
    return tuple(_node(each) for each in nodes if kind_of(each) in SOURCES)


def _node(node: Java) -> SourceNode:
    columns = frozenset(int(column.exprId().id()) for column in each(node.output()))
    return SourceNode(columns=columns, display_name=str(node.sourceName()))


def find_state(df: DataFrame) -> tuple[str, ...]:
    """Name what keeps state in a streaming query, as users call it; empty without state."""
    found = (state_of(node) for node in walk_streaming(analysed(df)))
    return tuple(dict.fromkeys(filter(None, found)))


def state_of(node: Java) -> str | None:
    """Name what keeps state in a node of a streaming plan; None when nothing does."""
    kind = kind_of(node)
    if kind == "Join":
        is_both = node.left().isStreaming() and node.right().isStreaming()
        return "a join of two streams" if is_both else None
    return _STATEFUL.get(kind)


def find_doubts(df: DataFrame) -> tuple[str, ...]:
    """Say why a batch job can give other rows than the stream gave; empty if nothing is known."""
    plan = analysed(df)
    doubts = []
    if not plan.deterministic():
        doubts.append("it uses random values, or values that depend on the order of rows")
    names = (_VARYING.get(kind_of(found)) for found in _expressions(plan))
    doubts += [f"it uses {name}" for name in dict.fromkeys(filter(None, names))]
    return tuple(doubts)


def static_sides(df: DataFrame) -> tuple[StaticSide, ...]:
    """Return the data of a streaming query that is not a stream, leaf by leaf."""
    leaves = (node for node in walk(analysed(df)) if node.children().isEmpty())
    return tuple(_static_side(node) for node in leaves if not node.isStreaming())


def _static_side(node: Java) -> StaticSide:
    kind = kind_of(node)
    if kind in ("Range", "OneRowRelation"):
        return StaticSide(display_name=kind, is_constant=True)
    location = _delta_location(node) if kind == "LogicalRelation" else None
    if location is None:
        is_made = kind in ("LocalRelation", "LogicalRDD")
        shown = "data that its function makes" if is_made else f"a table ({kind})"
        return StaticSide(display_name=_shown_files(node) or shown)
    place = str(location.path().toString())
    if location.isTimeTravelQuery():
        return StaticSide(
            display_name=f"a version of the Delta table {redact_location(place)}", is_constant=True
        )
    return StaticSide(display_name=f"the Delta table {redact_location(place)}", delta=place)


def _delta_location(node: Java) -> Java | None:
    """Return where the files of a Delta table are known; None for another relation."""
    if not _is_of_files(node.relation()):
        return None
    location = node.relation().location()
    return location if kind_of(location).startswith("TahoeLogFileIndex") else None


def _is_of_files(relation: Java) -> bool:
    """Return whether a relation is files, also as Delta makes it: a class of its own, unnamed."""
    kinds = (relation.getClass(), relation.getClass().getSuperclass())
    return any(str(kind.getSimpleName()) == "HadoopFsRelation" for kind in kinds)


def _shown_files(node: Java) -> str:
    """Return the files of a relation for people; empty when it has none."""
    if kind_of(node) != "LogicalRelation" or not _is_of_files(node.relation()):
        return ""
    paths = [redact_location(str(path)) for path in each(node.relation().location().rootPaths())]
    return f"files in {paths[0]}" if paths else ""


def _expressions(plan: Java) -> Iterator[Java]:
    for node in walk(plan):
        for expression in each(node.expressions()):
            yield from walk(expression)
