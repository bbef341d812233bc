"""Finds the table that a Delta sink writes into, and checks what it takes and who may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.errors import ConfigError, LocationError
from holdfast.formats.delta_log import newest_version
from holdfast.redact import redact_location
from holdfast.sinks.delta.columns import DeltaTableError, check_columns
from holdfast.sinks.delta.commit import COMMITTING
from holdfast.sinks.delta.failures import is_missing
from holdfast.sinks.delta.log_store import check_log_store
from holdfast.sinks.delta.target import Target, identity_of
from holdfast.sinks.session import place_of, reader_of
from holdfast.sinks.spark_columns import without_lengths
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of
from holdfast.spark_versions import DELTA_PACKAGES, delta_settings, supported
from holdfast.storage.location import Location, parse_location, spark_location
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from holdfast.sinks.delta.log_ledger import LedgerState
    from holdfast.sinks.delta.sink import Delta

_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
_V2_MODE = "spark.databricks.delta.v2.enableMode"
_DELETED = "it was dropped or renamed"
_RETENTION = "delta.setTransactionRetentionDuration"


def sql_name(sink: Delta) -> str:
    """Return a table as SQL names it."""
    return sink.table or f"delta.`{str(sink.path).replace('`', '``')}`"


def open_target(spark: SparkSession, sink: Delta) -> Target:
    """Return the table of a sink, without a stream that it must take.

    Raises:
        DeltaTableError: The session does not know Delta.
    """
    _check_delta(spark, f"The Delta table {sink.table or sink.path}")
    missing = Target(
        name=sql_name(sink),
        reader=_future_reader(spark, sink),
        in_catalog=sink.table is not None,
        is_missing=True,
    )
    if not _is_there(spark, sink):
        return missing
    detail = spark.sql(f"DESCRIBE DETAIL {missing.name}").collect()[0]
    location = parse_location(detail.location)
    reader = reader_of(spark, location)
    return replace(missing, reader=reader, table_id=detail.id, is_missing=False)


def find_moved(rows: DataFrame, target: Target) -> str | None:
    """Say that the name of a table leads elsewhere now, if Spark's own catalog tells it at once.

    Args:
        rows: Of a batch: in their session, they are written to that name.
        target: The table that the start has found.
    """
    if not target.in_catalog:
        return None
    spark = rows.sparkSession
    there = port_of(spark).catalog_location(spark, target.name)
    return None if there is None else _compare(there, target)


def find_elsewhere(rows: DataFrame, target: Target) -> str | None:
    """Say the same, of any catalog and over Spark Connect: this asks Delta."""
    if not target.in_catalog:
        return None
    detail = _describe(rows.sparkSession, target.name)
    return _DELETED if detail is None else _compare(detail.location, target)


def _compare(there: str, target: Target) -> str | None:
    try:
        is_same = identity_of(parse_location(there)) == target.identity
    except LocationError:  # that of the stream was taken
        is_same = False
    return None if is_same else f"its name stands for {redact_location(there)} now"


def find_other(spark: SparkSession, target: Target, standing: LedgerState) -> str | None:
    """Say that another table is where the stream's was, when the log does not tell."""
    if not standing.is_unsure:
        return None
    place = spark_location(target.reader.location).replace("`", "``")
    detail = _describe(spark, f"delta.`{place}`")
    if detail is None:
        return _DELETED
    return None if detail.id == target.table_id else "it is another table: its id is another one"


def _describe(spark: SparkSession, name: str) -> Row | None:
    """Return what Delta says of a table; None if it was deleted."""
    try:
        return spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]
    except spark_errors() as error:
        if is_missing(error):
            return None
        raise


def find_target(df: DataFrame, sink: Delta) -> Target:
    """Find a table and check that it takes the rows of a stream; nothing is created.

    Raises:
        DeltaTableError: It does not take them, or other settings would break the ledger.
        ConfigError: A key is no column of the stream.
    """
    spark = df.sparkSession
    shown = f"The Delta table {sink.table or sink.path}"
    _check_session(spark, shown)
    _check_delta(spark, shown)
    for key in (*sink.keys, *((sink.sequence_by,) if sink.sequence_by else ())):
        if key not in df.columns:
            raise ConfigError(f"The stream has no column {key}.")
    target = Target(
        name=sql_name(sink),
        types=_types_of(df),
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
        is_ordered=not any(_has_no_order(field.dataType.simpleString()) for field in df.schema),
        is_loose=any(_is_loose(field.dataType.simpleString()) for field in df.schema),
        is_evolving=_is_evolving(spark),
        columns=tuple(df.columns),
        reader=_future_reader(spark, sink),
        in_catalog=sink.table is not None,
        is_missing=True,
    )
    if _is_there(spark, sink):
        return _found(df, target, shown)
    check_log_store(spark, target.reader.location, shown)
    return target


def _found(df: DataFrame, target: Target, shown: str) -> Target:
    """Return the target of a table that is there, once it takes the columns of the stream."""
    spark = df.sparkSession
    detail = spark.sql(f"DESCRIBE DETAIL {target.name}").collect()[0]
    location = parse_location(detail.location)
    check_log_store(spark, location, shown)
    if _RETENTION in detail.properties:
        why = f"Its property {_RETENTION} makes Delta forget which batches it holds."
        how = f"ALTER TABLE {target.name} UNSET TBLPROPERTIES ('{_RETENTION}')"
        raise DeltaTableError(shown, why=why, how=how)
    return replace(
        target,
        columns=check_columns(
            df, target.name, shown, is_merging=bool(target.keys), is_evolving=target.is_evolving
        ),
        reader=reader_of(spark, location),
        table_id=detail.id,
        is_missing=False,
    )


def _future_reader(spark: SparkSession, sink: Delta) -> Reader:
    """Return a reader of where the table will be; of a name in a catalog that is not known yet."""
    if sink.path is None:
        nowhere = MemoryStorage()
        name = (
            str(sink.table)
            if "." in str(sink.table)
            else f"{spark.catalog.currentDatabase()}.{sink.table}"
        )
        nowhere.location = Location(scheme="memory", bucket="catalog", path=name.lower())
        return nowhere
    return reader_of(spark, place_of(spark, sink.path))


def _types_of(df: DataFrame) -> dict[str, str]:
    """Return the columns of a plain type, as Delta names it, by their names in lower case."""
    kinds = {each.name.lower(): each.dataType.jsonValue() for each in df.schema}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, str)}


def _has_no_order(kind: str) -> bool:
    return any(word in kind for word in ("map<", "variant", "geometry", "geography"))


def _is_loose(kind: str) -> bool:
    """Return whether a type has floats, of which `-0.0` and `0.0` are equal."""
    return any(word in kind for word in ("float", "double"))


def _is_evolving(spark: SparkSession) -> bool:
    return str(spark.conf.get(_AUTO_MERGE, "false")).lower() == "true"


def make_table(df: DataFrame, sink: Delta) -> None:
    """Make an empty table with the columns of a stream, unless it is there."""
    columns = without_lengths(df.schema)
    empty = df.sparkSession.createDataFrame([], columns).write.format("delta").mode("ignore")
    save = empty.save if sink.table is None else empty.saveAsTable
    place = str(sink.path or sink.table)
    try:
        save(place)
    except spark_errors():
        # Another driver made it in the same moment; if that is not it, this fails alike.
        save(place)


def _is_there(spark: SparkSession, sink: Delta) -> bool:
    if sink.path is None:
        return spark.catalog.tableExists(str(sink.table))
    return newest_version(reader_of(spark, place_of(spark, sink.path))) is not None


def _check_session(spark: SparkSession, shown: str) -> None:
    """Refuse settings under which a batch would be left out, or committed without its ledger."""
    for setting in COMMITTING:
        if spark.conf.get(setting, None) is not None:
            raise DeltaTableError(
                shown,
                why=f"{setting} is set in the session: Delta would leave out batches, silently.",
                how=f'spark.conf.unset("{setting}")',
            )
    if str(spark.conf.get(_V2_MODE, "AUTO")).upper() == "STRICT":
        raise DeltaTableError(
            shown,
            why=f"{_V2_MODE} is STRICT: Delta then ignores who writes and which batch it is.",
            how=f'spark.conf.set("{_V2_MODE}", "AUTO")',
        )


def _check_delta(spark: SparkSession, shown: str) -> None:
    """Refuse a session that does not know Delta, before Spark says it in its own words."""
    extensions = str(spark.conf.get("spark.sql.extensions", ""))
    if "io.delta" in extensions:
        return
    row = supported(spark.version)
    if row is not None and row.delta is None:
        versions = ", ".join(DELTA_PACKAGES)
        raise DeltaTableError(
            shown,
            why=f"There is no Delta Lake for Spark {spark.version} that Holdfast was run on.",
            how=f"Use Spark {versions}, or another sink.",
        )
    settings = [f"{name}={value}" for name, value in delta_settings(spark.version).items()]
    options = " ".join(f"--conf {each}" for each in settings)
    raise DeltaTableError(
        shown,
        why="This session does not know Delta: spark.sql.extensions does not name it.",
        how=f"Start Spark with these settings: {', '.join(settings)}. For a `holdfast` command, "
        f"run first: export PYSPARK_SUBMIT_ARGS='{options} pyspark-shell'",
        problem="cannot be opened in this Spark session",
    )
