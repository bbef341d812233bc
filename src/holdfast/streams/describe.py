"""What a query is, from the query itself before it runs: its sources and its operators with state.

Spark plans a streaming query anew for every batch, so the plan that was analysed is what there is
before the first. Names are those that Spark writes into `state/<operator>/_metadata`, from Spark
4.2 `operators/stateful/…` (shortName); ids are given from the outermost operator inwards.
"""

from __future__ import annotations

import re
from typing import Any

from holdfast.record.contracts import Contract
from holdfast.redact import redact, redact_location
from holdfast.streams.plan import SOURCES, analysed, kind_of, walk_streaming

_OPERATORS = {
    "Aggregate": "stateStoreSave",
    "Deduplicate": "dedupe",
    "DeduplicateWithinWatermark": "dedupeWithinWatermark",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "GlobalLimit": "globalLimit",
    "Join": "symmetricHashJoin",
    "TransformWithState": "transformWithStateExec",
    "TransformWithStateInPySpark": "transformWithStateInPySparkExec",
}
_AT_PATH = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
"""How Spark names a source of files: `FileSource[s3a://lake/in]`."""
_SESSIONS = "sessionWindowStateStoreSaveExec"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def describe_query(df: Any, *, sinks: tuple[str, ...], output_mode: str) -> Contract:
    """Return the contract of a query that is about to be started."""
    kinds = [(kind_of(node), node) for node in walk_streaming(analysed(df))]
    operators = tuple(filter(None, (_operator(kind, node) for kind, node in kinds)))
    provider = df.sparkSession.conf.get(_PROVIDER).rpartition(".")[2] if operators else ""
    return Contract(
        sources=tuple(_source(node) for kind, node in kinds if kind in SOURCES),
        sinks=sinks,
        output_mode=output_mode,
        operators=operators,
        state_provider=provider,
    )


def _operator(kind: str, node: Any) -> str | None:
    """Return the name of a node's operator with state; None when it has none."""
    if kind == "Join" and not (node.left().isStreaming() and node.right().isStreaming()):
        return None
    if kind == "Aggregate" and "session_window" in node.groupingExpressions().toString():
        return _SESSIONS
    return _OPERATORS.get(kind)


def _source(node: Any) -> str:
    """Return a source as Spark names it; of its options, which can hold passwords, the topic."""
    name = _without_credentials(str(node.sourceName()))
    if kind_of(node) != "StreamingRelationV2":
        return name
    options = node.extraOptions()
    topics = filter(None, (options.get(key) for key in ("subscribe", "subscribePattern", "assign")))
    return " ".join([name, *map(redact, topics)])


def _without_credentials(name: str) -> str:
    matched = _AT_PATH.fullmatch(name)
    return f"{matched[1]}[{redact_location(matched[2])}]" if matched else redact(name)
