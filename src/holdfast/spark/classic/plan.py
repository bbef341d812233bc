"""A query's plan as Spark has analysed it, reached through the JVM: Python has no other way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from holdfast.spark.classic.jvm import Java

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SOURCES = ("StreamingRelation", "StreamingRelationV2")
"""The kinds of nodes that a stream comes from."""


def analysed(df: DataFrame) -> Java:
    """Return the plan of a streaming DataFrame, before it runs."""
    plan: Java = df._jdf.queryExecution().analyzed()
    return plan


def kind_of(node: Java) -> str:
    """Return what a node of a plan is, or an expression in it: `Project`, `PythonUDF`."""
    return str(node.getClass().getSimpleName())


def each(sequence: Java) -> Iterator[Java]:
    """Yield what a Scala collection holds."""
    yield from iterate(sequence.iterator())


def iterate(iterator: Java) -> Iterator[Java]:
    """Yield what a Scala iterator gives."""
    while iterator.hasNext():
        yield iterator.next()


def options_of(node: Java) -> Mapping[str, str]:
    """Return the options of a source of the newer kind, whose names have no case."""
    options: Any = node.extraOptions()  # a map of Java, which is one of Python too
    return cast("Mapping[str, str]", options)


def walk(node: Java) -> Iterator[Java]:
    """Yield a plan's nodes, or an expression's, each before what is in it."""
    yield node
    for child in each(node.children()):
        yield from walk(child)


def walk_streaming(node: Java) -> Iterator[Java]:
    """Yield a plan's streaming nodes, each before what it reads from."""
    if node.isStreaming():
        yield node
        for child in each(node.children()):
            yield from walk_streaming(child)


def optimised(df: DataFrame) -> Java:
    """Return the plan that Spark will run. The job that runs it does not optimise it again."""
    plan: Java = df._jdf.queryExecution().optimizedPlan()
    return plan


def estimated_bytes(df: DataFrame) -> int:
    """Return how large Spark takes a DataFrame to be; close to 2 ** 63 when it does not know."""
    return int(str(optimised(df).stats().sizeInBytes()))


def find_reads(df: DataFrame) -> tuple[str, ...]:
    """Return the locations that a streaming DataFrame reads; those of topics have none."""
    nodes = (node for node in walk_streaming(analysed(df)) if kind_of(node) == "StreamingRelation")
    return tuple(dict.fromkeys(path for node in nodes for path in _paths(node.dataSource())))


def _paths(source: Java) -> Iterator[str]:
    path = source.options().get("path")
    table = source.catalogTable()
    if path.isDefined():
        yield str(path.get())
    elif table.isDefined() and table.get().storage().locationUri().isDefined():
        yield str(table.get().storage().locationUri().get())
