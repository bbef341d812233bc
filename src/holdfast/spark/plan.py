"""A query's plan as Spark has analysed it, reached through the JVM: Python has no other way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

SOURCES = ("StreamingRelation", "StreamingRelationV2")
"""The kinds of nodes that a stream comes from."""


def analysed(df: Any) -> Any:
    """Return the plan of a streaming DataFrame, before it runs."""
    return df._jdf.queryExecution().analyzed()


def kind_of(node: Any) -> str:
    """Return what a node of a plan is, or an expression in it: `Project`, `PythonUDF`."""
    return str(node.getClass().getSimpleName())


def each(sequence: Any) -> Iterator[Any]:
    """Yield what a Scala collection holds."""
    yield from iterate(sequence.iterator())


def iterate(iterator: Any) -> Iterator[Any]:
    """Yield what a Scala iterator gives."""
    while iterator.hasNext():
        yield iterator.next()


def walk_streaming(node: Any) -> Iterator[Any]:
    """Yield a plan's streaming nodes, each before what it reads from."""
    if node.isStreaming():
        yield node
        for child in each(node.children()):
            yield from walk_streaming(child)


def optimised(df: Any) -> Any:
    """Return the plan that Spark will run. The job that runs it does not optimise it again."""
    return df._jdf.queryExecution().optimizedPlan()


def estimated_bytes(df: Any) -> int:
    """Return how large Spark takes a DataFrame to be; close to 2 ** 63 when it does not know."""
    return int(str(optimised(df).stats().sizeInBytes()))
