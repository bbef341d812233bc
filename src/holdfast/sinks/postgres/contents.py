"""The rows of a PostgreSQL table and its ledger row, in one snapshot of the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast.proof.row_hash import quoted
from holdfast.sinks.contents import BEYOND, SinkContents, newest_by_key, nullable
from holdfast.sinks.postgres.attach_check import of_snapshot, takes_parts
from holdfast.sinks.postgres.decode import canonical_json
from holdfast.sinks.postgres.failures import naming_refusals
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.read_rows import ReadColumn, ReadTask, read_rows
from holdfast.sinks.postgres.target import Target

if TYPE_CHECKING:
    import psycopg
    from pyspark.sql import Column, DataFrame

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.sink import Postgres

_KINDS = """\
SELECT a.attname, t.typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped"""
_SIZE = """\
SELECT coalesce(sum(pg_relation_size(relid)), 0)::bigint FROM (
    SELECT to_regclass(%s)::oid AS relid
    UNION SELECT relid::oid FROM pg_partition_tree(to_regclass(%s))) r"""
_WIDE = {"byte": "long", "short": "long", "integer": "long", "float": "double"}
_OTHER_ORDER = ("jsonb", "uuid")
"""Types that PostgreSQL orders by other rules than Spark orders their texts."""


@contextmanager
def open_contents(sink: Postgres, df: DataFrame, stream: str) -> Iterator[SinkContents]:
    """Give what a table holds; nothing is written.

    The snapshot is kept open until the end: whatever Spark reads of it is of one moment.

    Args:
        sink: The table.
        df: The stream, for its columns.
        stream: Its name.

    Raises:
        HoldfastError: The table does not have these columns, or the database cannot be used.
    """
    from holdfast.sinks.arrow_columns import find_schema
    from holdfast.sinks.postgres.table import check_read

    schema = find_schema(df, sink.table)
    ledger = PostgresLedgerStore(sink)
    try:
        with naming_refusals(sink.display_name):
            connection = ledger.session.connection()
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                # Without its keys: a table that has lost its unique index is read all the same.
                found = check_read(connection, sink.table, schema)
                target = replace(found, keys=tuple(sink.keys), sequence_by=sink.sequence_by)
                row = _read_row(connection, sink, target, stream=stream)
                kinds: dict[str, str] = dict(connection.execute(_KINDS, (target.name,)).fetchall())
                rows = _Rows(sink=sink, df=df, target=target, kinds=kinds)
                yield SinkContents(
                    row=row,
                    rows=rows.read(connection),
                    newest=lambda given: _newest(given, target),
                    comparable=rows.comparable,
                    ties=_ties(target, kinds),
                    row_of=lambda name: _read_row(connection, sink, target, stream=name),
                    others=_other_streams(connection, target, stream=stream),
                )
    finally:
        ledger.close()


def _read_row(
    connection: psycopg.Connection, sink: Postgres, target: Target, *, stream: str
) -> LedgerRow | None:
    from holdfast.sinks.postgres.ledger_rows import find_label, read_row
    from holdfast.sinks.postgres.ledger_tables import check_tables

    if not check_tables(connection):
        return None
    label = find_label(connection, stream, target.oid, name=sink.label) or sink.label
    return read_row(connection, stream, label)


def _other_streams(
    connection: psycopg.Connection, target: Target, *, stream: str
) -> tuple[str, ...]:
    from holdfast.sinks.postgres.ledger_rows import find_other_streams
    from holdfast.sinks.postgres.ledger_tables import check_tables

    if not check_tables(connection):
        return ()
    return find_other_streams(connection, stream, target.oid)


class _Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Reads the rows of one table as a DataFrame."""

    sink: Postgres
    df: DataFrame
    """The stream."""
    target: Target
    kinds: Mapping[str, str]
    """PostgreSQL's own names of the types, by column."""

    @property
    def columns(self) -> tuple[ReadColumn, ...]:
        """Those of the stream."""
        return tuple(
            ReadColumn(name=each.name, kind=self.kinds[each.name], scale=_scale(each.dataType))
            for each in self.df.schema
        )

    def comparable(self, given: DataFrame) -> DataFrame:
        """Return a DataFrame of the stream with the values that are read of equal ones."""
        from pyspark.sql import functions as F

        kinds = {each.name: each.dataType for each in given.schema}
        values = (
            _comparable(F.col(quoted(each.name)), kinds[each.name], each.kind).alias(each.name)
            for each in self.columns
        )
        return given.select(*values, F.lit(None).cast("string").alias(BEYOND))

    def read(self, connection: psycopg.Connection) -> DataFrame:
        """Return all rows: from the driver, or by a task where they are too many for it."""
        from holdfast.sinks.collect import memory_of
        from holdfast.spark.arrow import arrow_schema

        spark = self.df.sparkSession
        wanted = spark.createDataFrame([], nullable(self.comparable(self.df).schema))
        name, columns = self.target.name, self.columns
        table = of_snapshot(name) if takes_parts(connection, name) else name
        (size,) = connection.execute(_SIZE, (name, name)).fetchone() or (0,)
        if size > memory_of(spark):
            (snapshot,) = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
            task = ReadTask(
                dsn=self.sink.dsn,
                table=table,
                columns=columns,
                snapshot=snapshot,
                schema=arrow_schema(wanted),
            )
            return spark.range(0, 1, 1, 1).mapInArrow(task, wanted.schema)
        rows = wanted
        for chunk in read_rows(connection, table, columns):
            rows = rows.union(spark.createDataFrame(chunk, wanted.schema, verifySchema=False))
        return rows


def _scale(kind: Any) -> int | None:
    """Return the scale of a decimal type, or of the elements of an array."""
    return getattr(getattr(kind, "elementType", kind), "scale", None)


def _comparable(value: Column, kind: Any, target: str) -> Column:
    """Return values of the stream in the form that `ReadColumn` gives.

    Args:
        value: A column, or the elements of an array.
        kind: Its type in Spark.
        target: Its type in PostgreSQL.
    """
    from pyspark.sql import functions as F

    if target in ("jsonb", "_jsonb"):
        return _json_form(value, is_array=target == "_jsonb")
    if target.startswith("_"):
        return F.transform(value, lambda each: _comparable(each, kind.elementType, target[1:]))
    if target in _FORMS:
        return _FORMS[target](value)
    if target == "numeric":
        return value.cast(f"decimal(38,{kind.scale})")
    wide = _WIDE.get(kind.typeName())
    return value if wide is None else value.cast(wide)


def _instant(value: Column) -> Column:
    from pyspark.sql import functions as F

    return F.unix_micros(value)


def _day(value: Column) -> Column:
    from pyspark.sql import functions as F

    return F.unix_date(value).cast("long")


def _uuid(value: Column) -> Column:
    from pyspark.sql import functions as F

    digits = F.regexp_replace(F.lower(value), "-", "")
    cuts = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
    parts = (F.substring(digits, start, length) for start, length in cuts)
    return F.when(value.isNotNull(), F.concat_ws("-", *parts))


_FORMS: Mapping[str, Callable[[Column], Column]] = {
    "timestamptz": _instant,
    "timestamp": lambda value: value.cast("string"),
    "date": _day,
    "uuid": _uuid,
}


def _json_form(value: Column, *, is_array: bool) -> Column:
    """Return JSON in the form of `canonical_json`; a function of Python runs for it in Spark."""
    from pyspark.sql import functions as F

    # Without annotations, which Spark would read: it takes other kinds of functions from them.
    one: Any = _json_or_null
    if is_array:
        each = F.udf(lambda texts: texts and [one(text) for text in texts], "array<string>")
        return each(value)
    return F.udf(one, "string")(value)


def _json_or_null(text):  # type: ignore[no-untyped-def]
    return None if text is None else canonical_json(text)


def _newest(given: DataFrame, target: Target) -> DataFrame:
    """Return one row per key, by the order that the table's upsert has."""
    if not target.keys or target.sequence_by is None:
        return given
    return newest_by_key(
        given,
        target.keys,
        target.sequence_by,
        columns=target.columns,
        is_loose=target.is_loose,
    )


def _ties(target: Target, kinds: Mapping[str, str]) -> str:
    """Say why of rows with one key and one order value another one can be kept; empty if none."""
    if not target.keys:
        return ""
    if not target.is_ordered:
        return "rows of one key and one order value are ordered by PostgreSQL's own text of them"
    if loose := sorted(target.loose_texts.intersection(target.keys)):
        return f"PostgreSQL takes different texts in the key {loose[0]} for one key"
    other = (
        name
        for name in target.columns
        if kinds[name] in _OTHER_ORDER or kinds[name].startswith("_")
    )
    name = next(other, None)
    if name is None:
        return ""
    return f"rows of one key and one order value are ordered by PostgreSQL's order of {name}"
