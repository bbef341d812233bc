"""The streams of a pipeline, built: what each reads and writes, before any of them is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.redact import redact
from holdfast.sinks.sink import SinkWriter
from holdfast.spark.errors import spark_errors
from holdfast.storage.location import normal
from holdfast.streams.declared import Declared, build_one
from holdfast.streams.future_tables import FutureTables
from holdfast.streams.graph import Node, find_reads
from holdfast.streams.start import start

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """One stream, built."""

    declared: Declared
    df: DataFrame | None
    """None when it reads a table that is not there yet: built again at its own start."""
    node: Node

    def start(self, spark: SparkSession, options: dict[str, Any]) -> StreamingQuery:
        """Start the stream."""
        df = self.declared.build(spark) if self.df is None else self.df
        given = {**self.declared.options, **options}
        return start(df, stream=self.declared.name, into=self.declared.sinks, **given)


def build_streams(spark: SparkSession, streams: Mapping[str, Declared]) -> dict[str, Built]:
    """Call the functions in the order of their declaration; nothing is created.

    A later one may read what an earlier one will write: a table that is not there yet is read
    as an empty stream. A stream that cannot be built so is built at its own start.
    """
    built = {}
    future = FutureTables(spark)
    with ExitStack() as opened:
        for name, declared in streams.items():
            try:
                df, reads = build_one(spark, declared, future)
            except spark_errors() as error:
                if not future:
                    raise
                built[name] = Built(declared=declared, df=None, node=_unbuilt(declared, error))
                continue
            mode = declared.options["outputMode"]
            writers = []
            for sink in declared.sinks:
                writers.append(sink.writer_for(df, stream=name, output_mode=mode))
                opened.callback(writers[-1].close)
                future.add(writers[-1].place, df.schema)
            node = _node(declared, writers, reads=(*find_reads(df), *reads))
            built[name] = Built(declared=declared, df=None if reads else df, node=node)
    return built


def _unbuilt(declared: Declared, error: Exception) -> Node:
    """Return a stream that may read, in another way, a table that is not there yet."""
    places = tuple(normal(sink.place) for sink in declared.sinks)
    return Node(
        name=declared.name,
        reads=(),
        writes=places,
        tables=places,
        appends=tuple(normal(sink.place) for sink in declared.sinks if sink.is_appending),
        unknown=redact(str(error)).partition("\n")[0],
    )


def nodes_of(built: Mapping[str, Built]) -> dict[str, Node]:
    """Return what each stream reads and writes, by its name."""
    return {name: each.node for name, each in built.items()}


def _node(declared: Declared, writers: Sequence[SinkWriter], *, reads: tuple[str, ...]) -> Node:
    both = list(zip(declared.sinks, writers, strict=True))
    return Node(
        name=declared.name,
        reads=reads,
        writes=tuple(normal(writer.place) for writer in writers),
        tables=tuple(writer.identity for writer in writers),
        appends=tuple(writer.identity for sink, writer in both if sink.is_appending),
    )
