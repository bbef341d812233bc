"""The rows of a PostgreSQL table and its ledger row, in one snapshot of the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from holdfast.proof.row_hash import quoted
from holdfast.sinks.held import Held
from holdfast.sinks.postgres.failures import naming_refusals
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.read_rows import ReadColumn, ReadTask, read_rows
from holdfast.sinks.postgres.target import Target

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.sink import Postgres

_KINDS = """\
SELECT a.attname, t.typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped"""
_SIZE = """\
SELECT coalesce(sum(pg_relation_size(relid)), 0)::bigint FROM (
    SELECT to_regclass(%s)::oid AS relid
    UNION SELECT relid::oid FROM pg_partition_tree(to_regclass(%s))) r"""
_CHANGED = {
    "jsonb": "PostgreSQL keeps jsonb in a form of its own",
    "bpchar": "PostgreSQL pads char(n) with spaces",
}
"""Types whose values do not come back as they were written."""
_WIDE = {"byte": "long", "short": "long", "integer": "long", "float": "double"}


@contextmanager
def open_held(sink: Postgres, df: Any, stream: str) -> Iterator[Held]:
    """Give what a table holds; nothing is written.

    The snapshot is kept open until the end: whatever Spark reads of it is of one moment.

    Args:
        sink: The table.
        df: The stream, for its columns.
        stream: Its name.

    Raises:
        HoldfastError: The table does not have these columns, or the database cannot be used.
    """
    from holdfast.sinks.postgres.table import check_table, find_schema

    schema = find_schema(df, sink.table)
    ledger = PostgresLedgerStore(sink)
    try:
        with naming_refusals(sink.shown):
            connection = ledger.session.connection()
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                # Without its keys: a table that has lost its unique index is read all the same.
                found = check_table(connection, sink.table, schema)
                target = replace(found, keys=tuple(sink.keys), sequence_by=sink.sequence_by)
                row = _read_row(connection, sink, target, stream=stream)
                kinds = dict(connection.execute(_KINDS, (target.name,)).fetchall())
                rows = _Rows(sink=sink, df=df, target=target, kinds=kinds)
                yield Held(
                    row=row,
                    rows=rows.read(connection),
                    newest=lambda given: _newest(given, target),
                    comparable=rows.comparable,
                    left_out=tuple(_reasons(rows)),
                    doubts=tuple(_doubts(target, rows.left_out)),
                )
    finally:
        ledger.close()


def _read_row(
    connection: psycopg.Connection[Any], sink: Postgres, target: Target, *, stream: str
) -> LedgerRow | None:
    from holdfast.ledger.postgres import find_label, read_row
    from holdfast.ledger.postgres_tables import check_tables

    if not check_tables(connection):
        return None
    label = find_label(connection, stream, target.oid, name=sink.label) or sink.label
    return read_row(connection, stream, label)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Reads the rows of one table as a DataFrame."""

    sink: Postgres
    df: Any
    """The stream."""
    target: Target
    kinds: Mapping[str, str]
    """PostgreSQL's own names of the types, by column."""

    @property
    def left_out(self) -> list[str]:
        """The columns that are not compared."""
        return [name for name in self.df.columns if self.kinds[name] in _CHANGED]

    @property
    def columns(self) -> tuple[ReadColumn, ...]:
        """Those that are."""
        fields = ((each.name, each.dataType) for each in self.df.schema)
        return tuple(
            ReadColumn(name=name, kind=self.kinds[name], scale=getattr(kind, "scale", None))
            for name, kind in fields
            if name not in self.left_out
        )

    def comparable(self, given: Any) -> Any:
        """Return a DataFrame of the stream with the types that are read."""
        return given.select(*(_comparable(given, each) for each in self.columns))

    def read(self, connection: psycopg.Connection[Any]) -> Any:
        """Return all rows: from the driver, or by a task where they are too many for it."""
        from holdfast.sinks.postgres.large import budget_of
        from holdfast.spark.arrow import arrow_schema

        spark, wanted = self.df.sparkSession, self.comparable(self.df)
        name, columns = self.target.name, self.columns
        (size,) = connection.execute(_SIZE, (name, name)).fetchone() or (0,)
        if size > budget_of(spark):
            (snapshot,) = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
            task = ReadTask(
                dsn=self.sink.dsn,
                table=name,
                columns=columns,
                snapshot=snapshot,
                schema=arrow_schema(wanted),
            )
            return spark.range(0, 1, 1, 1).mapInArrow(task, wanted.schema)
        rows = spark.createDataFrame([], wanted.schema)
        for chunk in read_rows(connection, name, columns):
            rows = rows.union(spark.createDataFrame(chunk, wanted.schema, verifySchema=False))
        return rows


def _comparable(df: Any, column: ReadColumn) -> Any:
    """Return a column of the stream with the values that `ReadColumn` gives."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DecimalType

    name, kind = F.col(quoted(column.name)), df.schema[column.name].dataType.typeName()
    match column.kind:
        case "timestamptz":
            found = F.unix_micros(name)
        case "timestamp":
            found = name.cast("string")
        case "date":
            found = F.unix_date(name).cast("long")
        case "uuid":
            digits = F.regexp_replace(F.lower(name), "-", "")
            cuts = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
            parts = (F.substring(digits, start, length) for start, length in cuts)
            found = F.when(name.isNotNull(), F.concat_ws("-", *parts))
        case _ if column.scale is not None:
            found = name.cast(DecimalType(38, column.scale))
        case _:
            found = name.cast(_WIDE[kind]) if kind in _WIDE else name
    return found.alias(column.name)


def _newest(given: Any, target: Target) -> Any:
    """Return one row per key, by the order that the table's upsert has."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    if not target.keys or target.sequence_by is None:
        return given
    largest = [F.col(quoted(column)).desc_nulls_first() for column in target.columns]
    if target.is_loose:
        largest.append(F.to_json(F.struct(*map(quoted, target.columns))).desc())
    newest_first = F.col(quoted(target.sequence_by)).desc_nulls_last()
    by_key = Window.partitionBy(*map(quoted, target.keys)).orderBy(newest_first, *largest)
    ranked = given.withColumn("__holdfast_rank", F.row_number().over(by_key))
    return ranked.where("__holdfast_rank = 1").drop("__holdfast_rank")


def _reasons(rows: _Rows) -> Iterator[str]:
    for name in rows.left_out:
        yield f"the column {name}: {_CHANGED[rows.kinds[name]]}"


def _doubts(target: Target, left_out: list[str]) -> Iterator[str]:
    if target.keys and not target.is_ordered:
        yield "rows of one key and one order value are ordered by PostgreSQL's own text of them"
    elif loose := sorted(target.loose_texts.intersection(target.keys)):
        yield f"PostgreSQL takes different texts in the key {loose[0]} for one key"
    elif target.keys and left_out:
        yield f"rows of one key and one order value are ordered by PostgreSQL's {left_out[0]}"
