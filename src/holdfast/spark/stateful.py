"""What every adapter says of a query: its operators with state, its settings, its sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.evidence.session_settings import UNPINNED
from holdfast.redact import redact, redact_location
from holdfast.spark.errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPERATORS = {
    "Aggregate": "stateStoreSave",
    "Deduplicate": "dedupe",
    "DeduplicateWithinWatermark": "dedupeWithinWatermark",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "GlobalLimit": "globalLimit",
    "Join": "symmetricHashJoin",
    "TransformWithState": "transformWithStateExec",
    "TransformWithStateInPandas": "transformWithStateInPandasExec",
    "TransformWithStateInPySpark": "transformWithStateInPySparkExec",
}
"""The operators with state, by the kind of their node in a plan that Spark has analysed."""
SESSIONS = "sessionWindowStateStoreSaveExec"
_AT_PATH = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
"""How Spark names a source of files: `FileSource[s3a://lake/in]`."""
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
# As in Spark 4.3 `checkpointing/OffsetSeq.scala` (relevantSQLConfs); older versions lack some.
_PINNED = (
    _PROVIDER,
    "spark.sql.dropDuplicates.deterministicKeyOrder.enabled",
    "spark.sql.function.protobufExtensions.enabled",
    "spark.sql.optimizer.pruneFiltersCanPruneStreamingSubplan",
    "spark.sql.shuffle.partitions",
    "spark.sql.streaming.aggregation.stateFormatVersion",
    "spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion",
    "spark.sql.streaming.join.stateFormatVersion",
    "spark.sql.streaming.multipleWatermarkPolicy",
    "spark.sql.streaming.queryEvolution.enableSourceEvolution",
    "spark.sql.streaming.stateStore.compression.codec",
    "spark.sql.streaming.stateStore.encodingFormat",
    "spark.sql.streaming.stateStore.rocksdb.formatVersion",
    "spark.sql.streaming.stateStore.rocksdb.mergeOperatorVersion",
    "spark.sql.streaming.stateStore.rowChecksum.enabled",
    "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled",
    "spark.sql.streaming.statefulOperator.useStrictDistribution",
)


def state_provider(spark: SparkSession) -> str:
    """Return the class of the state store's provider, without its package."""
    return str(spark.conf.get(_PROVIDER)).rpartition(".")[2]


def settings_of(spark: SparkSession) -> dict[str, str]:
    """Return what the session would pin in a new checkpoint, and what it would not."""
    found = {}
    for name in (*_PINNED, *UNPINNED):
        try:
            found[name] = redact(str(spark.conf.get(name)))
        except spark_errors():  # this version of Spark does not have it
            continue
    return found


def without_credentials(name: str) -> str:
    """Return the name that Spark has for a source, without the credentials in its path."""
    matched = _AT_PATH.fullmatch(name)
    return f"{matched[1]}[{redact_location(matched[2])}]" if matched else redact(name)
