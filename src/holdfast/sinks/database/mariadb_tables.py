"""A table of MariaDB or MySQL, from the server's catalogue."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from holdfast.sinks.database.effects import say_child, say_trigger
from holdfast.sinks.database.target import Column, Found, Row, parted

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection, Dialect

_TABLE = """\
SELECT table_schema, table_name, table_type, engine, create_time FROM information_schema.tables
WHERE table_schema = coalesce(?, database()) AND table_name = ?"""
_COLUMNS = """\
SELECT column_name, data_type, column_type, is_nullable, column_default, extra,
    character_maximum_length, character_octet_length, numeric_precision, numeric_scale,
    datetime_precision, character_set_name, collation_name
FROM information_schema.columns WHERE table_schema = ? AND table_name = ?
ORDER BY ordinal_position"""
_UNIQUES = """\
SELECT index_name, column_name, sub_part FROM information_schema.statistics
WHERE table_schema = ? AND table_name = ? AND non_unique = 0"""
_TABLE_IDS = (
    "SELECT table_id FROM information_schema.innodb_sys_tables WHERE name = ?",
    "SELECT table_id FROM information_schema.innodb_tables WHERE name = ?",
)
"""Of MariaDB and of MySQL; for users who may see it (PROCESS)."""
_CHILDREN = """\
SELECT constraint_schema, table_name FROM information_schema.referential_constraints
WHERE unique_constraint_schema = ? AND referenced_table_name = ?
    AND delete_rule NOT IN ('RESTRICT', 'NO ACTION')
    AND NOT (constraint_schema = unique_constraint_schema AND table_name = referenced_table_name)
LIMIT 1"""
_UNSEEN_CHILDREN = tuple(
    f"SELECT for_name FROM information_schema.{table} WHERE ref_name = ? AND for_name <> ref_name"  # noqa: S608
    " AND type & 3 LIMIT 1"  # ON DELETE CASCADE is 1, SET NULL is 2
    for table in ("innodb_sys_foreign", "innodb_foreign")
)
"""Of MariaDB and of MySQL: also tables on which the user has no right, with PROCESS."""
_TRIGGERS = """\
SELECT trigger_name FROM information_schema.triggers
WHERE event_object_schema = ? AND event_object_table = ? AND event_manipulation IN (?, ?)
LIMIT 1"""


def find(dialect: Dialect, connection: Connection, table: str) -> Found | None:
    """Return what there is to know of a table; None when there is none of this name."""
    found = dialect.ask(connection, _TABLE, parted(table))
    if not found:
        return None
    schema, name, table_type, engine, created = found[0]
    is_table = table_type == "BASE TABLE"
    shown = ".".join(map(dialect.quote, (schema, name)))
    problem = None if is_table else f"It is a {str(table_type).lower()}, and not a table."
    if is_table and str(engine).lower() != "innodb":
        problem = f"Its engine is {engine}, which takes no row back: no batch would be one step."
    columns = dialect.ask(connection, _COLUMNS, (schema, name))
    return Found(
        place=f"{schema}.{name}",
        problem=problem,
        fix=f"ALTER TABLE {shown} ENGINE=InnoDB;" if is_table else "-- name a table",
        pin=f"{created} {_table_id(dialect, connection, f'{schema}/{name}')}",
        columns={each.name: each for each in map(_column, columns)},
        uniques=_uniques(dialect.ask(connection, _UNIQUES, (schema, name))),
    )


def find_effect(
    dialect: Dialect, connection: Connection, table: str, *, deletes: bool
) -> str | None:
    """Say which foreign key or trigger does something else when rows are moved."""
    found = dialect.ask(connection, _TABLE, parted(table))
    if not found:
        return None
    schema, name = found[0][:2]
    events = ("INSERT", "DELETE" if deletes else "INSERT")
    triggers = dialect.ask(connection, _TRIGGERS, (schema, name, *events))
    if triggers:
        return say_trigger(triggers[0][0])
    if not deletes:
        return None
    children = dialect.ask(connection, _CHILDREN, (schema, name))
    child = ".".join(children[0]) if children else None
    child = child or _first(dialect, connection, _UNSEEN_CHILDREN, of=f"{schema}/{name}")
    return None if child is None else say_child(child)


def _table_id(dialect: Dialect, connection: Connection, name: str) -> str:
    """Return the number that TRUNCATE changes too; "-" for users who may not see it."""
    return _first(dialect, connection, _TABLE_IDS, of=name) or "-"


def _first(
    dialect: Dialect, connection: Connection, statements: tuple[str, ...], *, of: str
) -> str | None:
    """Return what the first of the statements finds that the server knows and the user may run."""
    from pymysql.err import MySQLError

    for statement in statements:
        try:
            found = dialect.ask(connection, statement, (of,))
        except MySQLError:  # another server's table, or not for this user
            continue
        if found:
            return str(found[0][0])
    return None


def _column(found: Row) -> Column:
    name, kind, shown, nullable, default, extra, length, octets, precision, scale, *rest = found
    fraction, charset, collation = rest
    extra = str(extra).lower()
    return Column(
        name=name,
        kind=str(kind).lower(),
        shown=str(shown),
        is_nullable=nullable == "YES",
        has_default=nullable == "YES" or default is not None or "auto_increment" in extra,
        is_generated="generated" in extra and "default_generated" not in extra,
        is_unsigned="unsigned" in str(shown) or "zerofill" in str(shown),
        length=length,
        octets=octets,
        precision=precision,
        scale=scale,
        fraction=fraction,
        charset=charset,
        collation=collation,
    )


def _uniques(found: list[Row]) -> tuple[frozenset[str], ...]:
    columns, partial = defaultdict[str, set[str]](set), set[str]()
    for index, column, prefix in found:
        columns[index].add(str(column))
        if prefix is not None or column is None:  # of a prefix, or of an expression
            partial.add(index)
    return tuple(frozenset(each) for index, each in columns.items() if index not in partial)
