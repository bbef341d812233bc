"""What a query is, from the query itself before it runs: its sources and its operators with state.

Spark plans a streaming query anew for every batch, so the plan that was analysed is what there is
before the first. Names are those that Spark writes into `state/<operator>/_metadata`, from Spark
4.2 `operators/stateful/…` (shortName); ids are given from the outermost operator inwards.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from holdfast.evidence.state_columns import PlannedState, not_null_columns
from holdfast.record.contracts import Contract, SinkContract
from holdfast.redact import redact
from holdfast.spark.classic.jvm import Java, jvm_of
from holdfast.spark.classic.plan import SOURCES, analysed, each, kind_of, options_of, walk_streaming
from holdfast.spark.classic.state_columns import plan_state
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.source_options import keep_options
from holdfast.spark.stateful import (
    OPERATORS,
    SESSIONS,
    settings_of,
    state_provider,
    without_credentials,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def describe_query(
    df: DataFrame,
    *,
    sinks: tuple[str, ...],
    output_mode: str,
    sink_places: tuple[SinkContract, ...] = (),
) -> tuple[Contract, tuple[PlannedState | None, ...]]:
    """Return the contract of a query, and what each stateful operator would bind to its state.

    Args:
        df: The streaming DataFrame.
        sinks: The label of each sink.
        output_mode: As for Spark.
        sink_places: Of each sink that has a ledger, where the ledger is.
    """
    spark = df.sparkSession
    kinds = [(kind_of(node), node) for node in walk_streaming(analysed(df))]
    operators = [(name, node) for kind, node in kinds if (name := _operator(kind, node))]
    sources = [node for kind, node in kinds if kind in SOURCES]
    state = plan_state(df, output_mode=output_mode, operators=len(operators))
    contract = Contract(
        sources=tuple(map(_source, sources)),
        sinks=sinks,
        output_mode=output_mode,
        operators=tuple(name for name, _ in operators),
        state_provider=state_provider(spark) if operators else "",
        spark=spark.version,
        source_options=tuple(map(_options, sources)),
        sink_places=sink_places,
        operator_keys=tuple(_key(node) for _, node in operators),
        settings=settings_of(spark),
        operator_parts=tuple(None if each is None else each.parts for each in state),
        operator_not_null=tuple(None if each is None else not_null_columns(each) for each in state),
        watermarks=tuple(_watermark(node) for kind, node in kinds if kind == "EventTimeWatermark"),
    )
    return contract, state


def find_refusal(df: DataFrame, *, output_mode: str) -> str | None:
    """Say why Spark refuses a query on any checkpoint, such as an aggregation in append mode."""
    jvm = jvm_of(df.sparkSession)
    mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, output_mode.capitalize())()
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    try:
        checker.checkForStreaming(analysed(df), mode)
    except spark_errors() as error:
        return first_line(error)
    return None


def _watermark(node: Java) -> str:
    return f"{node.eventTime().name()} {node.delay().toString()}"


def _key(node: Java) -> str | None:
    """Return the key of an operator's state, as Spark writes a type; None if the plan hides it."""
    kind = kind_of(node)
    if kind == "Aggregate":
        columns = node.groupingExpressions()
    elif kind in ("Deduplicate", "DeduplicateWithinWatermark"):
        columns = node.keys()
    else:
        return None
    fields = (f"{_name(column)}:{column.dataType().simpleString()}" for column in each(columns))
    return f"struct<{','.join(fields)}>"


def _name(column: Java) -> str:
    is_named = kind_of(column) in ("Alias", "AttributeReference")
    return str(column.name() if is_named else column.sql())


def _operator(kind: str, node: Java) -> str | None:
    """Return the name of a node's operator with state; None when it has none."""
    if kind == "Join" and not (node.left().isStreaming() and node.right().isStreaming()):
        return None
    if kind == "Aggregate" and "session_window" in str(node.groupingExpressions().toString()):
        return SESSIONS
    # Spark 4.1 and later have one node for both functions, and name them apart as 4.0 does.
    if (
        kind == "TransformWithStateInPySpark"
        and str(node.userFacingDataType().toString()) == "pandas"
    ):
        kind = "TransformWithStateInPandas"
    return OPERATORS.get(kind)


def _source(node: Java) -> str:
    """Return a source as Spark names it; of its options, which can hold passwords, the topic."""
    name = without_credentials(str(node.sourceName()))
    if kind_of(node) != "StreamingRelationV2":
        return name
    options = options_of(node)
    topics = filter(None, (options.get(key) for key in ("subscribe", "subscribePattern", "assign")))
    return " ".join([name, *map(redact, topics)])


def _options(node: Java) -> dict[str, str]:
    """Return the options of a source that are safe to write down, its format and its columns."""
    columns = sha256(str(node.schema().json()).encode()).hexdigest()[:16]
    if kind_of(node) == "StreamingRelationV2":
        kept = keep_options(options_of(node).items())
        return {**kept, "format": redact(str(node.sourceName())), "schema": columns}
    options = each(node.dataSource().options())
    kept = keep_options((str(option._1()), str(option._2())) for option in options)
    return {**kept, "format": redact(str(node.dataSource().className())), "schema": columns}
