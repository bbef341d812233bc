"""The table that a Delta sink writes into: where it is, what it takes, and who else may write."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.errors import ConfigError, HoldfastError
from holdfast.ledger.delta_log import newest_version
from holdfast.sinks.delta.commit import COMMITTING
from holdfast.sinks.session import store_options
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader

_LOG = logging.getLogger("holdfast")
_AUTO_MERGE = "spark.databricks.delta.schema.autoMerge.enabled"
_V2_MODE = "spark.databricks.delta.v2.enableMode"
_RETENTION = "delta.setTransactionRetentionDuration"


class DeltaTableError(HoldfastError):
    """A Delta table does not take what the stream brings; nothing was written."""

    code = "DELTA_TABLE"

    def __init__(self, shown: str, *, why: str, how: str) -> None:
        super().__init__(
            what=f"{shown} does not take this stream; nothing was written.", why=why, how=how
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A Delta table, by its path or by its name in a catalog."""

    name: str
    """As SQL takes it."""
    reader: Reader
    table_id: str | None = None
    """Delta's own, in the table's metadata."""
    columns: tuple[str, ...] = ()
    """Those of the stream that the table has."""
    types: Mapping[str, str] | None = None
    """The stream's columns of a plain type, as Delta names it, by their names in lower case."""
    keys: tuple[str, ...] = ()
    sequence_by: str | None = None
    is_ordered: bool = True
    """Whether Spark can compare values of every column; of maps it cannot."""
    is_evolving: bool = False
    """Whether the session asks for columns to be added that the table lacks."""

    @property
    def identity(self) -> str:
        """Its location, the same through every link that leads to it."""
        location = self.reader.location
        return os.path.realpath(location.path) if location.scheme == "file" else str(location)


def open_target(
    df: Any, *, path: str | None, table: str | None, keys: tuple[str, ...], sequence_by: str | None
) -> Target:
    """Find a table, or make it with the columns of a stream; check that it takes them.

    Raises:
        DeltaTableError: It does not take them, or other settings would break the ledger.
        ConfigError: A key is no column of the stream.
    """
    spark = df.sparkSession
    shown = f"The Delta table {table or path}"
    _check_session(spark, shown)
    _check_delta(spark, shown)
    name = table or f"delta.`{str(path).replace('`', '``')}`"
    _make_table(df, path=path, table=table)
    detail = spark.sql(f"DESCRIBE DETAIL {name}").first()
    location = parse_location(detail.location)
    _check_log_store(spark, location, shown)
    if _RETENTION in detail.properties:
        why = f"Its property {_RETENTION} makes Delta forget which batches it holds."
        how = f"ALTER TABLE {name} UNSET TBLPROPERTIES ('{_RETENTION}')"
        raise DeltaTableError(shown, why=why, how=how)
    columns = _check_columns(df, name, shown)
    for key in (*keys, *((sequence_by,) if sequence_by else ())):
        if key not in df.columns:
            raise ConfigError(f"The stream has no column {key}.")
    return Target(
        name=name,
        reader=open_reader(location, store_options(spark, location)),
        table_id=detail.id,
        columns=columns,
        types=_types_of(df),
        keys=keys,
        sequence_by=sequence_by,
        is_ordered=not any(_has_no_order(field.dataType.simpleString()) for field in df.schema),
        is_evolving=_is_evolving(spark),
    )


def _types_of(df: Any) -> dict[str, str]:
    """Return the columns of a plain type, as Delta names it, by their names in lower case."""
    kinds = {each.name.lower(): each.dataType.jsonValue() for each in df.schema}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, str)}


def _has_no_order(kind: str) -> bool:
    return any(word in kind for word in ("map<", "variant", "geometry", "geography"))


def _is_evolving(spark: Any) -> bool:
    return str(spark.conf.get(_AUTO_MERGE, "false")).lower() == "true"


def _make_table(df: Any, *, path: str | None, table: str | None) -> None:
    """Make an empty table with the columns of a stream, unless it is there."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    if _is_there(df.sparkSession, path=path, table=table):
        return
    empty = df.sparkSession.createDataFrame([], df.schema).write.format("delta").mode("ignore")
    save = empty.save if table is None else empty.saveAsTable
    try:
        save(path or table)
    except (PySparkException, Py4JJavaError):
        # Another driver made it in the same moment; if that is not it, this fails alike.
        save(path or table)


def _is_there(spark: Any, *, path: str | None, table: str | None) -> bool:
    if path is None:
        return bool(spark.catalog.tableExists(table))
    location = parse_location(path)
    return newest_version(open_reader(location, store_options(spark, location))) is not None


def _check_session(spark: Any, shown: str) -> None:
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


def _check_delta(spark: Any, shown: str) -> None:
    """Refuse a session that does not know Delta, before Spark says it in its own words."""
    extensions = str(spark.conf.get("spark.sql.extensions", ""))
    if "io.delta" not in extensions:
        raise DeltaTableError(
            shown,
            why="This session does not know Delta: spark.sql.extensions does not name it.",
            how="Start Spark with Delta's package and io.delta.sql.DeltaSparkSessionExtension.",
        )


def _check_log_store(spark: Any, location: Location, shown: str) -> None:
    """Name what two writers of one table can do to each other on S3."""
    if location.scheme != "s3":
        return
    settings = ("spark.delta.logStore.s3a.impl", "spark.delta.logStore.class")
    configured = next(filter(None, (spark.conf.get(name, None) for name in settings)), None)
    if configured is None:
        _LOG.warning(
            "holdfast: %s is on S3 with Delta's default LogStore, which is safe for one writer of "
            "the table only: let nothing else write to it",
            shown,
        )
    elif "GCS" in configured:
        raise DeltaTableError(
            shown,
            why=f"{configured} on s3a lets two writers replace each other's commits.",
            how="Unset it, or use one that is made for S3.",
        )


def _check_columns(df: Any, name: str, shown: str) -> tuple[str, ...]:
    """Return the columns of the stream that the table has."""
    spark = df.sparkSession
    there = {field.name.lower(): field for field in spark.table(name).schema}
    brought = {column.lower() for column in df.columns}
    for field in there.values():
        if not field.nullable and field.name.lower() not in brought:
            raise DeltaTableError(
                shown,
                why=f"Its column {field.name} must not be NULL, and the stream has no such one.",
                how=f"ALTER TABLE {name} ALTER COLUMN {field.name} DROP NOT NULL",
            )
    for field in df.schema:
        found = there.get(field.name.lower())
        if found is None and not _is_evolving(spark):
            kind = field.dataType.simpleString()
            raise DeltaTableError(
                shown,
                why=f"It has no column {field.name} ({kind}).",
                how=f"ALTER TABLE {name} ADD COLUMNS ({field.name} {kind})",
            )
        if found is not None and found.dataType != field.dataType:
            mine, kept = field.dataType.simpleString(), found.dataType.simpleString()
            raise DeltaTableError(
                shown,
                why=f"Its column {field.name} is {kept}; the stream brings {mine}.",
                how=f"Cast it in the query: .withColumn({field.name!r}, col.cast({kept!r})).",
            )
    return tuple(column for column in df.columns if column.lower() in there)
