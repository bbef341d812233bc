"""The target table, held against the columns that a stream brings, before any batch is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.ledger.postgres import STORAGE
from holdfast.sinks.postgres.encode import Encoder
from holdfast.sinks.postgres.look import SHAPE, UNSAFE
from holdfast.sinks.postgres.target import Table, Target, quote, quote_table
from holdfast.sinks.postgres.types import find_encoder, suggest_type
from holdfast.spark.arrow import spark_type

if TYPE_CHECKING:
    import psycopg

_TABLE = f"""\
SELECT n.nspname, c.relname, c.relkind::text,
    EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid AND w.ev_type IN ('2', '3')),
    {STORAGE}, {UNSAFE}, {SHAPE}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)
"""  # noqa: S608 - no value in it
_FOUND = f"""\
SELECT n.nspname, c.relname, {STORAGE}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)
"""  # noqa: S608 - no value in it
_COLUMNS = """\
SELECT a.attname,
       CASE WHEN n.nspname = 'pg_catalog' OR t.typname = 'citext' THEN t.typname::text
            ELSE n.nspname || '.' || t.typname END,
       a.atttypmod, format_type(a.atttypid, a.atttypmod),
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS must_be_given,
       a.attgenerated <> '' AS is_generated, a.attidentity = 'a' AS is_identity
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
"""
_TEXTS = ("text", "varchar", "bpchar")
_WITHOUT_ORDER = ("json", "_json", "xml", "point")
_UNIQUE = """\
SELECT array_agg(a.attname::text ORDER BY a.attname) FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid
  AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid
"""
_ORDINARY, _PARTITIONED = "r", "p"
_KINDS = {"f": "a foreign table", "m": "a materialised view", "v": "a view"}


class TableError(HoldfastError):
    """The table does not take what the stream brings; nothing was written."""

    code = "TABLE"

    def __init__(self, table: str, *, why: str, sql: str) -> None:
        self.table = table
        self.sql = sql
        super().__init__(
            what=f"The table {table} does not take this stream; nothing was written.",
            why=why,
            how=f"To fix the table, run:  {sql}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of the table."""

    kind: str
    """`typname`; with its schema where it is not one of PostgreSQL's own."""
    modifier: int
    shown: str
    must_be_given: bool
    is_generated: bool
    is_identity: bool
    """Whether it is GENERATED ALWAYS AS IDENTITY, which INSERT refuses and COPY takes."""


def find_schema(df: Any, table: str) -> Any:
    """Return the Arrow schema in which the rows of a Spark DataFrame come.

    Raises:
        TableError: A column's type has no form in Arrow.
    """
    from pyspark.errors import PySparkException

    from holdfast.spark.arrow import arrow_schema

    try:
        return arrow_schema(df)
    except PySparkException as error:
        raise TableError(
            table,
            why=f"A column of the stream has no form in PostgreSQL: {error}",
            sql="-- cast it to another type",
        ) from error


def find_table(connection: psycopg.Connection[Any], table: str) -> Table | None:
    """Find a table by its name; None when there is none."""
    found = connection.execute(_FOUND.encode(), (quote_table(table),)).fetchone()
    if found is None:
        return None
    namespace, relation, storage = found
    name = f"{quote(namespace)}.{quote(relation)}"
    return Table(name=name, shown=f"{namespace}.{relation}", storage=storage)


def check_table(
    connection: psycopg.Connection[Any],
    table: str,
    schema: Any,
    *,
    keys: Sequence[str] = (),
    sequence_by: str | None = None,
) -> Target:
    """Hold a table against the Arrow schema of a stream, and pin it by its oid.

    Raises:
        TableError: A table, a column, a type or a key is missing or does not fit; it names the SQL.
    """
    given = [field.name for field in schema]
    found = connection.execute(_TABLE.encode(), (given, quote_table(table))).fetchone()
    if found is None:
        sql = _create(quote_table(table), schema, keys)
        raise TableError(table, why="There is no such table.", sql=sql)
    namespace, relation, kind, has_rules, storage, unsafe, shape = found
    shown, name = f"{namespace}.{relation}", f"{quote(namespace)}.{quote(relation)}"
    _check_kind(shown, name, kind=kind, unsafe=unsafe)
    columns = _read_columns(connection, name)
    encoders = tuple(_check_column(shown, name, field=field, found=columns) for field in schema)
    _check_required(shown, name, columns, given=given)
    _check_keys(given, shown, keys=(*keys, *([sequence_by] if sequence_by else [])))
    if keys:
        _check_merge(connection, shown, name, keys=keys)
        _check_inserts(shown, columns, given=given, has_rules=has_rules)
    return Target(
        name=name,
        shown=shown,
        storage=storage,
        shape=shape,
        columns=tuple(given),
        encoders=encoders,
        keys=tuple(keys),
        sequence_by=sequence_by,
        is_ordered=not any(columns[each].kind in _WITHOUT_ORDER for each in given),
        texts=frozenset(each for each in given if columns[each].kind in _TEXTS),
    )


def _read_columns(connection: psycopg.Connection[Any], name: str) -> dict[str, _Column]:
    return {
        column: _Column(
            kind=kind,
            modifier=modifier,
            shown=shown,
            must_be_given=must_be_given,
            is_generated=is_generated,
            is_identity=is_identity,
        )
        for column, kind, modifier, shown, must_be_given, is_generated, is_identity in (
            connection.execute(_COLUMNS, (name,)).fetchall()
        )
    }


def _check_kind(shown: str, name: str, *, kind: str, unsafe: str | None) -> None:
    """Refuse what does not hold data and ledger in one transaction of this server."""
    if kind not in (_ORDINARY, _PARTITIONED):
        why = f"It is {_KINDS.get(kind, 'not a table')}; rows and ledger would not be one step."
        raise TableError(shown, why=why, sql="-- name an ordinary or a partitioned table")
    if unsafe is not None:
        sql = f"ALTER TABLE {name} SET LOGGED;  -- or DISABLE ROW LEVEL SECURITY, by its owner"
        raise TableError(shown, why=f"A batch in it can be lost or hidden: {unsafe}.", sql=sql)


def _check_column(shown: str, name: str, *, field: Any, found: Mapping[str, _Column]) -> Encoder:
    wanted = suggest_type(field.type)
    column = found.get(field.name)
    if column is None:
        if wanted is None:
            brought = spark_type(field.type)
            why = f"The stream's column {field.name} ({brought}) has no type in PostgreSQL."
            raise TableError(shown, why=why, sql=f"-- select something else than {field.name}")
        sql = f"ALTER TABLE {name} ADD COLUMN {quote(field.name)} {wanted};"
        why = f"It has no column {field.name}, which the stream has as {spark_type(field.type)}."
        raise TableError(shown, why=why, sql=sql)
    encoder = None
    if not column.is_generated:
        encoder = find_encoder(field.type, column.kind, modifier=column.modifier)
    if encoder is None:
        has = spark_type(field.type)
        why = f"Its column {field.name} is {column.shown}; in the stream it is {has}."
        cast = f"TYPE {wanted} USING {quote(field.name)}::{wanted}"
        sql = f"ALTER TABLE {name} ALTER COLUMN {quote(field.name)} {cast};"
        if wanted is None or column.is_generated:
            sql = f"-- select something else than {field.name}"
        raise TableError(shown, why=why, sql=sql)
    return encoder


def _check_required(
    shown: str, name: str, found: Mapping[str, _Column], *, given: Sequence[str]
) -> None:
    for column, each in found.items():
        if each.must_be_given and column not in given:
            sql = f"ALTER TABLE {name} ALTER COLUMN {quote(column)} DROP NOT NULL;"
            why = f"Its column {column} ({each.shown}) is NOT NULL, and the stream has none."
            raise TableError(shown, why=why, sql=sql)


def _check_keys(given: Sequence[str], shown: str, *, keys: Sequence[str]) -> None:
    for key in keys:
        if key not in given:
            raise TableError(
                shown, why=f"The stream has no column {key}.", sql="-- correct the keys"
            )


def _check_merge(
    connection: psycopg.Connection[Any], shown: str, name: str, *, keys: Sequence[str]
) -> None:
    unique = [set(row[0]) for row in connection.execute(_UNIQUE, (name,)).fetchall()]
    if set(keys) not in unique:
        columns = ", ".join(map(quote, keys))
        why = f"It has no unique index on exactly {', '.join(keys)}."
        raise TableError(shown, why=why, sql=f"CREATE UNIQUE INDEX ON {name} ({columns});")


def _check_inserts(
    shown: str, found: Mapping[str, _Column], *, given: Sequence[str], has_rules: bool
) -> None:
    """Refuse what only INSERT stumbles over, in the first batch."""
    if has_rules:
        why = "It has rules, and PostgreSQL does not merge into a table with rules on INSERT."
        raise TableError(shown, why=why, sql="-- drop the rules: see pg_rules")
    always = [column for column in given if found[column].is_identity]
    if always:
        why = f"Its column {always[0]} is GENERATED ALWAYS AS IDENTITY, which INSERT cannot set."
        sql = f"-- leave {always[0]} out of the stream, or SET GENERATED BY DEFAULT"
        raise TableError(shown, why=why, sql=sql)


def _create(name: str, schema: Any, keys: Sequence[str]) -> str:
    columns = [f"{quote(field.name)} {suggest_type(field.type) or 'text'}" for field in schema]
    if keys:
        columns.append(f"PRIMARY KEY ({', '.join(map(quote, keys))})")
    return f"CREATE TABLE {name} ({', '.join(columns)});"
