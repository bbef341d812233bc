"""The target table, held against the columns that a stream brings, before any batch is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from holdfast.sinks.failures import TableError
from holdfast.sinks.postgres.attach_check import BY_PART, PARTED, check_attachable
from holdfast.sinks.postgres.columns import Column, read_columns
from holdfast.sinks.postgres.encode import Encoder
from holdfast.sinks.postgres.keys import check_merge
from holdfast.sinks.postgres.ledger_rows import STORAGE
from holdfast.sinks.postgres.look import SHAPE, UNSAFE
from holdfast.sinks.postgres.target import PART, Table, Target, quote, quote_table
from holdfast.sinks.postgres.types import find_encoder, suggest_type
from holdfast.spark.arrow import spark_type

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

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
_JSON = ("json", "jsonb", "_json", "_jsonb")
_ORDINARY, _PARTITIONED = "r", "p"
_KINDS = {"f": "a foreign table", "m": "a materialised view", "v": "a view"}


def find_table(connection: psycopg.Connection, table: str) -> Table | None:
    """Find a table by its name; None when there is none."""
    found = connection.execute(_FOUND.encode(), (quote_table(table),)).fetchone()
    if found is None:
        return None
    namespace, relation, storage = found
    name = f"{quote(namespace)}.{quote(relation)}"
    return Table(name=name, display_name=f"{namespace}.{relation}", storage=storage)


def check_table(
    connection: psycopg.Connection,
    table: str,
    schema: pa.Schema,
    *,
    keys: Sequence[str] = (),
    sequence_by: str | None = None,
) -> Target:
    """Hold a table against the Arrow schema of a stream, and pin it by its oid.

    Raises:
        TableError: A table, a column, a type or a key is missing or does not fit; it names the SQL.
    """
    use = _Use(keys=keys, sequence_by=sequence_by)
    return _check(connection, table, schema, use=use)


def check_attached(connection: psycopg.Connection, table: str, schema: pa.Schema) -> Target:
    """Hold a table against a stream whose batches are attached to it as partitions.

    Raises:
        TableError: See `check_table`; or batches cannot be attached to it.
    """
    return _check(connection, table, schema, use=_Use(is_attached=True))


def check_read(connection: psycopg.Connection, table: str, schema: pa.Schema) -> Target:
    """Hold a table against a stream whose rows are only read from it.

    Raises:
        TableError: See `check_table`.
    """
    return _check(connection, table, schema, use=_Use(is_read=True))


class _Use(NamedTuple):
    """What is done with a table."""

    keys: Sequence[str] = ()
    sequence_by: str | None = None
    is_attached: bool = False
    """Whether batches are attached to it as partitions."""
    is_read: bool = False
    """Whether nothing is written."""


def _check(connection: psycopg.Connection, table: str, schema: pa.Schema, *, use: _Use) -> Target:
    keys, sequence_by, is_attached, is_read = use
    given = [field.name for field in schema]
    found = connection.execute(_TABLE.encode(), (given, quote_table(table))).fetchone()
    if found is None:
        sql = _create(quote_table(table), schema, keys, is_attached=is_attached)
        raise TableError(table, why="There is no such table.", sql=sql)
    namespace, relation, kind, has_rules, storage, unsafe, shape = found
    shown, name = f"{namespace}.{relation}", f"{quote(namespace)}.{quote(relation)}"
    _check_kind(shown, name, kind=kind, unsafe=unsafe)
    columns = read_columns(connection, name)
    encoders = tuple(_check_column(shown, name, field=field, found=columns) for field in schema)
    set_by_us = [PART] if is_attached or is_read else []
    _check_required(shown, name, columns, given=[*given, *set_by_us])
    _check_keys(given, shown, keys=(*keys, *([sequence_by] if sequence_by else [])))
    merged_by = check_merge(connection, columns, keys, table=shown, name=name) if keys else ()
    if keys:
        _check_inserts(shown, columns, given=given, has_rules=has_rules)
    _check_order(shown, columns, sequence_by)
    attaching = None
    if is_attached:
        create = _create(name, schema, keys, is_attached=True)
        attaching = check_attachable(connection, shown, name, given=given, create=create)
    target = Target(
        name=name,
        display_name=shown,
        storage=storage,
        shape=shape,
        columns=tuple(given),
        encoders=encoders,
        keys=tuple(keys),
        sequence_by=sequence_by,
        merged_by=merged_by,
        attaching=attaching,
    )
    return _with_order(target, columns)


def _with_order(target: Target, columns: Mapping[str, Column]) -> Target:
    """Return a target that knows how its values are compared."""
    used = {name: columns[name] for name in target.columns}
    return replace(
        target,
        is_ordered=all(each.has_order for each in used.values()),
        orders={name: each.byte_order for name, each in used.items()},
        is_loose=any(each.is_loose for each in used.values()),
        loose_texts=frozenset(name for name, each in used.items() if each.is_loose_text),
    )


def _check_kind(shown: str, name: str, *, kind: str, unsafe: str | None) -> None:
    """Refuse what does not hold data and ledger in one transaction of this server."""
    if kind not in (_ORDINARY, _PARTITIONED):
        why = f"It is {_KINDS.get(kind, 'not a table')}; rows and ledger would not be one step."
        raise TableError(shown, why=why, sql="-- name an ordinary or a partitioned table")
    if unsafe is not None:
        sql = f"ALTER TABLE {name} SET LOGGED;  -- or DISABLE ROW LEVEL SECURITY, by its owner"
        raise TableError(shown, why=f"A batch in it can be lost or hidden: {unsafe}.", sql=sql)


def _check_column(
    shown: str, name: str, *, field: pa.Field, found: Mapping[str, Column]
) -> Encoder:
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
        encoder = find_encoder(
            field.type, column.kind, modifier=column.modifier, encoding=column.encoding
        )
    if encoder is None:
        has = spark_type(field.type)
        why = f"Its column {field.name} is {column.display_name}; in the stream it is {has}."
        cast = f"TYPE {wanted} USING {quote(field.name)}::{wanted}"
        sql = f"ALTER TABLE {name} ALTER COLUMN {quote(field.name)} {cast};"
        if wanted is None or column.is_generated:
            sql = f"-- select something else than {field.name}"
        raise TableError(shown, why=why, sql=sql)
    return encoder


def _check_required(
    shown: str, name: str, found: Mapping[str, Column], *, given: Sequence[str]
) -> None:
    for column, each in found.items():
        if each.must_be_given and column not in given:
            sql = f"ALTER TABLE {name} ALTER COLUMN {quote(column)} DROP NOT NULL;"
            if column == PART:
                sql = "-- give hf.Postgres parallel=, which sets it, or name another table"
            why = f"Its column {column} ({each.display_name}) is NOT NULL, and the stream has none."
            raise TableError(shown, why=why, sql=sql)


def _check_keys(given: Sequence[str], shown: str, *, keys: Sequence[str]) -> None:
    for key in keys:
        if key not in given:
            raise TableError(
                shown, why=f"The stream has no column {key}.", sql="-- correct the keys"
            )


def _check_order(shown: str, columns: Mapping[str, Column], sequence_by: str | None) -> None:
    """Refuse an order that PostgreSQL does not have, or that Spark does not share."""
    column = columns[sequence_by] if sequence_by else None
    if column is not None and (column.kind in _JSON or not column.has_order):
        kind = column.display_name
        why = f"Its column {sequence_by} is {kind}, which has no order that Spark shares."
        raise TableError(shown, why=why, sql="-- order by another column: sequence_by=")


def _check_inserts(
    shown: str, found: Mapping[str, Column], *, given: Sequence[str], has_rules: bool
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


def _create(name: str, schema: pa.Schema, keys: Sequence[str], *, is_attached: bool = False) -> str:
    columns = [f"{quote(field.name)} {suggest_type(field.type) or 'text'}" for field in schema]
    if keys:
        columns.append(f"PRIMARY KEY ({', '.join(map(quote, keys))})")
    if is_attached:
        return f"CREATE TABLE {name} ({', '.join((*columns, PARTED))}) {BY_PART};"
    return f"CREATE TABLE {name} ({', '.join(columns)});"
