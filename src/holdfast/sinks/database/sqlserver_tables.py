"""A table of SQL Server, from the catalogue of its database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ledger.output import is_copy
from holdfast.sinks.database.effects import say_child, say_trigger
from holdfast.sinks.database.target import Column, Found, Row, uniques_of

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection, Dialect

_TABLE = """\
SELECT s.name, o.name, o.object_id, RTRIM(o.type), o.type_desc,
    CONVERT(nvarchar(30), o.create_date, 126), CONVERT(nvarchar(30), o.modify_date, 126),
    t.is_memory_optimized, t.temporal_type
FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id
LEFT JOIN sys.tables t ON t.object_id = o.object_id
WHERE o.object_id = OBJECT_ID(?)"""
_COLUMNS = """\
SELECT name, TYPE_NAME(system_type_id), max_length, precision, scale, collation_name,
    is_nullable, default_object_id, is_identity, is_computed, generated_always_type,
    encryption_type
FROM sys.columns WHERE object_id = ? ORDER BY column_id"""
_UNIQUES = """\
SELECT i.index_id, c.name
FROM sys.indexes i JOIN sys.index_columns k
    ON k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0
JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE i.object_id = ? AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0"""
_SEES_ALL = "SELECT HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'VIEW DEFINITION')"
"""Without it the catalogue lacks other tables' keys, and triggers."""
_TRIGGERS = """\
SELECT TOP (1) t.name FROM sys.triggers t JOIN sys.trigger_events e ON e.object_id = t.object_id
WHERE t.parent_id = OBJECT_ID(?) AND t.is_disabled = 0 AND e.type_desc IN (?, ?)"""
_CHILDREN = """\
SELECT TOP (1) OBJECT_SCHEMA_NAME(parent_object_id), OBJECT_NAME(parent_object_id)
FROM sys.foreign_keys
WHERE referenced_object_id = OBJECT_ID(?) AND delete_referential_action <> 0
    AND parent_object_id <> referenced_object_id"""
_COUNTED = """\
SELECT name FROM sys.columns
WHERE object_id = OBJECT_ID(?) AND (is_identity = 1 OR TYPE_NAME(system_type_id) = N'timestamp')"""
_SYSTEM_VERSIONED = 2
_UNITS = {"nvarchar": 2, "nchar": 2}
"""Bytes of one unit of a length."""
_WITH_LENGTH = frozenset({"nvarchar", "nchar", "varchar", "char", "varbinary", "binary"})
_WITH_SCALE = frozenset({"datetime2", "datetimeoffset", "time"})


def find(dialect: Dialect, connection: Connection, table: str) -> Found | None:
    """Return what there is to know of a table; None when there is none of this name."""
    found = dialect.ask(connection, _TABLE, (_named(dialect, table),))
    if not found:
        return None
    schema, name, number, kind, shown, created, altered, in_memory, temporal = found[0]
    columns = [_column(each) for each in dialect.ask(connection, _COLUMNS, (number,))]
    problem = None
    if kind != "U":
        problem = f"It is a {str(shown).lower().replace('_', ' ')}, and not a table."
    elif in_memory:
        problem = "It is memory-optimized, and cannot be locked for a batch."
    elif temporal == _SYSTEM_VERSIONED:
        problem = "It is system-versioned: a second table would change with it."
    return Found(
        place=f"{schema}.{name}",
        problem=problem,
        fix="-- name an ordinary table",
        pin=f"{number} {created} {altered}",
        columns={each.name: each for each in columns},
        uniques=uniques_of(dialect.ask(connection, _UNIQUES, (number,))),
    )


def find_effect(
    dialect: Dialect, connection: Connection, table: str, *, deletes: bool
) -> str | None:
    """Say what would not be as it was after rows were moved."""
    named = _named(dialect, table)
    ((sees_all,),) = dialect.ask(connection, _SEES_ALL)
    if not sees_all:
        return "this user lacks VIEW DEFINITION on the database, and may not see what it causes"
    if counted := dialect.ask(connection, _COUNTED, (named,)):
        return f"its column {counted[0][0]}, which the server fills, would get other values"
    events = ("INSERT", "DELETE" if deletes else "INSERT")
    if triggers := dialect.ask(connection, _TRIGGERS, (named, *events)):
        return say_trigger(triggers[0][0])
    children = dialect.ask(connection, _CHILDREN, (named,)) if deletes else []
    return say_child(".".join(children[0])) if children else None


def _named(dialect: Dialect, table: str) -> str:
    # The name of a copy has a point that parts nothing.
    return dialect.quote(table) if is_copy(table) else dialect.quote_table(table)


def _column(found: Row) -> Column:
    name, kind, length, precision, scale, collation, nullable, default, *rest = found
    identity, computed, always, encryption = rest
    kind = str(kind or "a type of the CLR").lower()
    units = None if length == -1 else length // _UNITS.get(kind, 1)
    shown = _shown(kind, units, precision=precision, scale=scale)
    if collation:
        shown += f" COLLATE {collation}"
    return Column(
        name=name,
        kind=f"encrypted {kind}" if encryption else kind,
        shown=f"encrypted {shown}" if encryption else shown,
        is_nullable=bool(nullable),
        has_default=bool(nullable or default or identity or computed or always)
        or kind == "timestamp",
        is_generated=bool(identity or computed or always) or kind == "timestamp",
        is_unsigned=kind == "tinyint",
        length=units if kind in _WITH_LENGTH else None,
        precision=precision,
        scale=scale,
        fraction=scale if kind in _WITH_SCALE else None,
        collation=collation,
    )


def _shown(kind: str, units: int | None, *, precision: int, scale: int) -> str:
    if kind in _WITH_LENGTH:
        return f"{kind}({'max' if units is None else units})"
    if kind in ("decimal", "numeric"):
        return f"{kind}({precision},{scale})"
    return f"{kind}({scale})" if kind in _WITH_SCALE else kind
