"""Finds the table that an Iceberg sink writes into, and checks what it takes and who may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.sinks.iceberg.columns import check_columns, check_types
from holdfast.sinks.iceberg.failures import IcebergTableError, failure_of, is_missing
from holdfast.sinks.iceberg.target import Target
from holdfast.sinks.spark_columns import without_lengths
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of
from holdfast.spark_versions import ICEBERG_PACKAGES, supported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.sinks.iceberg.sink import Iceberg
    from holdfast.spark.iceberg_step import IcebergStep

_CATALOGS = "org.apache.iceberg.spark."
_WAP = ("spark.wap.id", "spark.wap.branch")
ATOMIC = {
    "JdbcTableOperations": "a JDBC catalog",
    "RESTTableOperations": "a REST catalog",
}
"""The classes of Iceberg whose commit takes one of two writers: both were raced."""
_NO_FLOATS = ("float", "double")


def open_target(spark: SparkSession, sink: Iceberg) -> Target:
    """Return the table of a sink, without a stream that it must take.

    Raises:
        IcebergTableError: The session cannot use it, or its catalog is not one that was run.
    """
    shown = _shown(sink)
    _check_session(spark, sink, shown)
    missing = Target(name=sink.table, keys=tuple(sink.keys), sequence_by=sink.sequence_by)
    step = _begin(spark, sink, shown)
    if step is None:
        return missing
    _check_table(step, shown)
    return replace(missing, uuid=step.uuid, commits_by=step.commits_by)


def find_target(df: DataFrame, sink: Iceberg) -> Target:
    """Find a table and check that it takes the rows of a stream; nothing is created.

    Raises:
        IcebergTableError: It does not take them, or settings would break the ledger.
        ConfigError: A key is no column of the stream.
    """
    spark, shown = df.sparkSession, _shown(sink)
    _check_session(spark, sink, shown)
    for key in (*sink.keys, *((sink.sequence_by,) if sink.sequence_by else ())):
        if key not in df.columns:
            raise ConfigError(f"The stream has no column {key}.")
    check_types(df.schema, shown)
    kinds = [field.dataType.simpleString() for field in df.schema]
    target = Target(
        name=sink.table,
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
        is_ordered=not any("map<" in kind for kind in kinds),
        is_loose=any(word in kind for kind in kinds for word in _NO_FLOATS),
    )
    step = _begin(spark, sink, shown)
    if step is None:
        return target
    _check_table(step, shown)
    there = spark.table(sink.table).schema
    missing = check_columns(df.schema, there, name=sink.table, display_name=shown)
    return replace(
        target,
        uuid=step.uuid,
        commits_by=step.commits_by,
        schema_id=step.schema_id,
        missing=missing,
    )


def make_table(df: DataFrame, sink: Iceberg) -> None:
    """Make an empty table with the columns of a stream, unless it is there."""
    spark = df.sparkSession
    empty = spark.createDataFrame([], without_lengths(df.schema))
    try:
        empty.writeTo(sink.table).using("iceberg").tableProperty("format-version", "2").create()
    except spark_errors() as error:
        # Another driver may have made it in the same moment.
        if not spark.catalog.tableExists(sink.table):
            raise failure_of(error, sink.display_name) from error


def _shown(sink: Iceberg) -> str:
    return f"The Iceberg table {sink.table}"


def _begin(spark: SparkSession, sink: Iceberg, shown: str) -> IcebergStep | None:
    try:
        return port_of(spark).iceberg_tables(spark).begin(sink.table)
    except spark_errors() as error:
        if is_missing(error):
            return None
        raise failure_of(error, shown) from error


def _check_session(spark: SparkSession, sink: Iceberg, shown: str) -> None:
    """Refuse a session that cannot write the table, before Spark says it in its own words."""
    row = supported(spark.version)
    if row is None or row.iceberg is None:
        versions = ", ".join(ICEBERG_PACKAGES)
        raise IcebergTableError(
            shown,
            why=f"There is no runtime of Iceberg for Spark {spark.version} that Holdfast was run "
            "on.",
            how=f"Use Spark {versions}, or another sink.",
        )
    catalog = sink.table.partition(".")[0].strip("`")
    setting = f"spark.sql.catalog.{catalog}"
    kind = str(spark.conf.get(setting, ""))
    if not kind.startswith(_CATALOGS):
        raise IcebergTableError(
            shown,
            why=f"{catalog} is not a catalog of Iceberg in this session: {setting} is "
            f"{kind or 'not set'}.",
            how=f"Start Spark with spark.jars.packages={row.iceberg} and {setting}="
            "org.apache.iceberg.spark.SparkCatalog, and name the table with its catalog.",
        )
    for name in _WAP:
        if spark.conf.get(name, None) is not None:
            raise IcebergTableError(
                shown,
                why=f"{name} is set in the session: batches would be staged and not published.",
                how=f'spark.conf.unset("{name}")',
            )
    _check_catalog(spark, setting, shown)


def _check_catalog(spark: SparkSession, setting: str, shown: str) -> None:
    """Refuse a kind of catalog before a table is made in it."""
    kind = spark.conf.get(f"{setting}.type", None)
    kind = spark.conf.get(f"{setting}.catalog-impl", None) if kind is None else kind
    told = str(kind or "hive").rpartition(".")[2]
    if not told.lower().startswith(("jdbc", "rest")):
        raise _not_atomic(shown, told)


def _check_table(step: IcebergStep, shown: str) -> None:
    if step.commits_by not in ATOMIC:
        raise _not_atomic(shown, step.commits_by)
    if step.format_version < 2:
        raise IcebergTableError(
            shown,
            why="It has format version 1, on which Holdfast was not run.",
            how="ALTER TABLE … SET TBLPROPERTIES ('format-version'='2')",
        )


def _not_atomic(shown: str, commits_by: str) -> IcebergTableError:
    why = f"Its catalog is {commits_by}, on which Holdfast was not run."
    if commits_by.lower().startswith("hadoop"):
        why = (
            "Its catalog is of the type hadoop: on local disk and on object stores two writers can "
            "both be told that they committed, and one batch would be lost."
        )
    return IcebergTableError(
        shown, why=why, how=f"Use {' or '.join(ATOMIC.values())}, or another sink."
    )
