"""What a query is, as far as a client of Spark Connect can know it before it runs.

Operators and sources are those of the plan that the server has analysed. What keeps state, by
which keys and from what, is in expressions that the server does not tell: that is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.evidence.state_columns import PlannedState
from holdfast.record.contracts import Contract, SinkContract
from holdfast.spark.connect import reads
from holdfast.spark.connect.plan_text import (
    SOURCES,
    Node,
    parse_plan,
    source_name,
    walk_streaming,
    watermark_of,
)
from holdfast.spark.connect.refusals import refuse
from holdfast.spark.connect.untyped import untyped
from holdfast.spark.stateful import (
    OPERATORS,
    SESSIONS,
    settings_of,
    state_provider,
    without_credentials,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PYTHON_STATE = "TransformWithStateInPySpark"


def describe_query(
    df: DataFrame,
    *,
    sinks: tuple[str, ...],
    output_mode: str,
    sink_places: tuple[SinkContract, ...] = (),
) -> tuple[Contract, tuple[PlannedState | None, ...]]:
    """Return the contract of a query; what each operator would bind to its state is unknown.

    Args:
        df: The streaming DataFrame.
        sinks: The label of each sink.
        output_mode: As for Spark.
        sink_places: Of each sink that has a ledger, where the ledger is.
    """
    spark, nodes = df.sparkSession, _nodes(df)
    operators = tuple(name for node in nodes if (name := _operator(node)))
    known = _known(df, nodes)
    unknown: tuple[None, ...] = (None,) * len(operators)
    contract = Contract(
        sources=_sources(nodes, known),
        sinks=sinks,
        output_mode=output_mode,
        operators=operators,
        state_provider=state_provider(spark) if operators else "",
        spark=spark.version,
        source_options=tuple(each.options for each in known or ()),
        sink_places=sink_places,
        operator_keys=unknown,
        settings=settings_of(spark),
        operator_parts=unknown,
        operator_not_null=unknown,
        watermarks=tuple(watermark_of(node) for node in nodes if node.kind == "EventTimeWatermark"),
    )
    return contract, unknown


def find_refusal(df: DataFrame, *, output_mode: str) -> str | None:
    """Return None: what Spark refuses on any checkpoint, its server says when the query starts."""
    del df, output_mode
    return None


def find_state(df: DataFrame) -> tuple[str, ...]:
    """Name what keeps state in a streaming query; empty without state."""
    return tuple(name for node in _nodes(df) if (name := _operator(node)))


def find_reads(df: DataFrame) -> tuple[str, ...]:
    """Return the locations that a streaming DataFrame reads; those of topics have none.

    Raises:
        UnsupportedSparkError: The client does not know them.
    """
    known = _known(df, _nodes(df))
    if known is None or any(each.table for each in known):
        refuse(
            "a stream of hf.Pipeline that reads a view or a table by its name",
            "where that is, the server does not tell",
        )
    return tuple(dict.fromkeys(path for each in known for path in each.paths))


def _sources(nodes: Sequence[Node], known: tuple[reads.Read, ...] | None) -> tuple[str, ...]:
    """Return the sources as Spark names them, and of a topic its name where it is known."""
    named = [source_name(node) or "unknown" for node in nodes if node.kind in SOURCES]
    topics = [each.topics for each in known] if known else [()] * len(named)
    pairs = zip(named, topics, strict=True)
    return tuple(" ".join([without_credentials(name), *told]) for name, told in pairs)


def _known(df: DataFrame, nodes: Sequence[Node]) -> tuple[reads.Read, ...] | None:
    """Return what the client knows of each source; None when it does not know all of them."""
    known = reads.find_reads(df)
    is_whole = known is not None and len(known) == sum(node.kind in SOURCES for node in nodes)
    return known if is_whole else None


def _nodes(df: DataFrame) -> list[Node]:
    return list(walk_streaming(parse_plan(str(untyped(df)._explain_string(extended=True)))))


def _operator(node: Node) -> str | None:
    """Return the name of a node's operator with state; None when it has none."""
    if node.kind == "Join" and not all(child.is_streaming for child in node.children):
        return None
    if node.kind == "Aggregate" and "session_window" in node.text:
        return SESSIONS
    if node.kind == _PYTHON_STATE and "pandas" in node.text.lower():
        return OPERATORS["TransformWithStateInPandas"]
    return OPERATORS.get(node.kind)
