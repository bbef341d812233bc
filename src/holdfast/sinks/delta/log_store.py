"""What Delta's log is written with on S3, and what that means for two writers of one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sinks.delta.columns import DeltaTableError
from holdfast.spark.port import port_of
from holdfast.storage.location import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.spark.plans import LogStoreSetup

LOG_STORE = "holdfast.delta.ConditionalPutLogStore"
"""Of the jar that is built from `log_store/` and shipped beside the wheel."""
SETTING = "spark.delta.logStore.s3a.impl"
_SETTINGS = (SETTING, "spark.delta.logStore.s3.impl")
_DEFAULT = "Delta's default LogStore"
_FOR_SEVERAL = (LOG_STORE, "S3DynamoDBLogStore")
_FOR_ONE = ("S3SingleDriverLogStore",)
_FOR_OTHER_STORES = ("GCS", "Azure", "HDFS", "Local", "OracleCloud", "IBMCOS")
_FIRST_HADOOP = "3.4.2"


def spark_settings(jar: str | None = None) -> dict[str, str]:
    """Return the settings with which Spark commits to Delta tables on S3 by a conditional PUT.

    They must be given before the session is made: Delta reads them once.

    Args:
        jar: Where `holdfast-delta-log-store-….jar` is; None if it is on the class path already.
    """
    stores = dict.fromkeys(_SETTINGS, LOG_STORE)
    return {**stores, **({} if jar is None else {"spark.jars": str(jar)})}


def check_log_store(spark: SparkSession, location: Location, shown: str) -> None:
    """Refuse what lets two writers replace each other's commits on S3 although it claims not to.

    Raises:
        DeltaTableError: It does, or it cannot work in this session.
    """
    if location.kind.spark_puts_if_absent:
        return
    setup = port_of(spark).describe_log_store(location, spark)
    name = (setup.class_name or "").rpartition(".")[2]
    if any(each in name for each in _FOR_OTHER_STORES):
        raise DeltaTableError(
            shown,
            why=f"{setup.class_name} on s3a lets two writers replace each other's commits.",
            how=f'Use hf.spark_settings(), which sets {SETTING} to "{LOG_STORE}".',
        )
    if setup.class_name == LOG_STORE:
        _check_ours(setup, shown)


def _check_ours(setup: LogStoreSetup, shown: str) -> None:
    if not setup.is_loaded:
        raise DeltaTableError(
            shown,
            why=f"{LOG_STORE} is configured, and its jar is not on the class path.",
            how="Give it to hf.spark_settings(jar=…) before the session is made, or to "
            "spark-submit with --jars. `make wheel` builds it.",
        )
    if not setup.sends_condition:
        raise DeltaTableError(
            shown,
            why=f"S3A of Hadoop {setup.hadoop} sends no conditional PUT here, which {LOG_STORE} "
            "commits with.",
            how=f"Use Hadoop {_FIRST_HADOOP} or later, as PySpark 4.1 and later bring it, and do "
            "not set fs.s3a.create.conditional.enabled to false.",
        )


def warn_of_log_store(spark: SparkSession, location: Location, shown: str) -> tuple[str, ...]:
    """Say what two writers of a table can do to each other, as far as it is known."""
    if location.kind.spark_puts_if_absent:
        return ()
    configured = port_of(spark).describe_log_store(location, spark).class_name
    name = (configured or "").rpartition(".")[2]
    if configured == LOG_STORE or name in _FOR_SEVERAL:
        return ()
    if configured is None or name in _FOR_ONE:
        return (
            f"{shown} is on S3 with {configured or _DEFAULT}, which is safe for "
            "a single writer only: let nothing else write to the table, or use hf.spark_settings()",
        )
    return (
        f"{shown} is on S3 with {configured}, of which Holdfast does not know whether it is safe "
        "for several writers: let nothing else write to the table, or use hf.spark_settings()",
    )
