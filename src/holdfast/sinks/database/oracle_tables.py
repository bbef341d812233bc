"""A table of Oracle, from the data dictionary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.sinks.database.effects import say_child, say_trigger
from holdfast.sinks.database.oracle_errors import trouble_of
from holdfast.sinks.database.target import Column, Found, Row, parted, uniques_of

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection, Dialect

_TABLE = """\
SELECT o.owner, o.object_name, o.object_type, o.object_id, o.data_object_id,
    TO_CHAR(o.last_ddl_time, 'YYYY-MM-DD HH24:MI:SS'), t.temporary
FROM all_objects o
LEFT JOIN all_tables t ON t.owner = o.owner AND t.table_name = o.object_name
WHERE o.owner = COALESCE(?, SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA')) AND o.object_name = ?
    AND o.object_type IN ('TABLE', 'VIEW', 'MATERIALIZED VIEW', 'SYNONYM')
ORDER BY o.object_type"""
_CHARSET = "SELECT value FROM nls_database_parameters WHERE parameter = 'NLS_CHARACTERSET'"
_COLUMNS = """\
SELECT column_name, data_type, data_length, char_length, char_used, data_precision, data_scale,
    nullable, default_length, default_on_null, identity_column, virtual_column, hidden_column,
    collation
FROM all_tab_cols WHERE owner = ? AND table_name = ? AND user_generated = 'YES'
ORDER BY internal_column_id"""
_UNIQUES = """\
SELECT i.owner || '.' || i.index_name, c.column_name
FROM all_indexes i JOIN all_ind_columns c
    ON c.index_owner = i.owner AND c.index_name = i.index_name
WHERE i.table_owner = ? AND i.table_name = ? AND i.uniqueness = 'UNIQUE'
    AND i.index_type = 'NORMAL' AND i.status IN ('VALID', 'N/A')"""
_TRIGGERS = """\
SELECT trigger_name FROM dba_triggers
WHERE table_owner = ? AND table_name = ? AND status = 'ENABLED'
    AND (triggering_event LIKE ? OR triggering_event LIKE ?)"""
_CHILDREN = """\
SELECT c.owner, c.table_name FROM dba_constraints c JOIN dba_constraints k
    ON k.owner = c.r_owner AND k.constraint_name = c.r_constraint_name
WHERE k.owner = ? AND k.table_name = ? AND c.constraint_type = 'R'
    AND c.delete_rule <> 'NO ACTION'
    AND NOT (c.owner = k.owner AND c.table_name = k.table_name)"""
_LENGTH = re.compile(r"\(\d+\)")


def find(dialect: Dialect, connection: Connection, table: str) -> Found | None:
    """Return what there is to know of a table; None when there is none of this name."""
    found = dialect.ask(connection, _TABLE, parted(table))
    if not found:
        return None
    schema, name, kind, number, segment, altered, temporary = found[0]
    ((charset,),) = dialect.ask(connection, _CHARSET)
    rows = dialect.ask(connection, _COLUMNS, (schema, name))
    columns = [_column(each, str(charset)) for each in rows]
    problem = None
    if kind != "TABLE" or temporary == "Y":
        problem = f"It is a {str(kind).lower() if temporary != 'Y' else 'temporary table'}."
    elif hidden := [each[0] for each in rows if each[12] == "YES"]:
        problem = f"Its column {hidden[0]} is invisible: a copy of its rows would lack it."
    return Found(
        place=f"{schema}.{name}",
        problem=problem,
        fix="-- name an ordinary table, with visible columns",
        pin=f"{number} {segment or '-'} {altered}",
        columns={each.name: each for each in columns},
        uniques=uniques_of(dialect.ask(connection, _UNIQUES, (schema, name))),
    )


def find_effect(
    dialect: Dialect, connection: Connection, table: str, *, deletes: bool
) -> str | None:
    """Say what would not be as it was after rows were moved."""
    found = dialect.ask(connection, _TABLE, parted(table))
    if not found:
        return None
    schema, name = found[0][:2]
    for row in dialect.ask(connection, _COLUMNS, (schema, name)):
        if row[10] == "YES":
            return f"its identity column {row[0]} would count them anew"
    events = ("%INSERT%", "%DELETE%" if deletes else "%INSERT%")
    try:
        triggers = dialect.ask(connection, _TRIGGERS, (schema, name, *events))
        children = dialect.ask(connection, _CHILDREN, (schema, name)) if deletes else []
    except dialect.errors as error:
        trouble = trouble_of(error)
        if trouble is None or not trouble.has_no_table:
            raise
        return "this user may not read DBA_TRIGGERS and DBA_CONSTRAINTS (SELECT_CATALOG_ROLE)"
    if triggers:
        return say_trigger(triggers[0][0])
    return say_child(".".join(children[0])) if children else None


def _column(found: Row, charset: str) -> Column:
    name, declared, octets, length, unit, precision, scale, nullable, default, *rest = found
    on_null, identity, virtual, _, collation = rest
    kind = _LENGTH.sub("", str(declared)).lower()
    is_text = kind in ("varchar2", "char")
    exact = collation in (None, "USING_NLS_COMP", "BINARY")
    return Column(
        name=name,
        kind=kind,
        shown=_shown(found, kind) + ("" if exact else f" COLLATE {collation}"),
        is_nullable=nullable == "Y" and on_null != "YES",  # or NULL would become the default
        has_default=nullable == "Y" or default is not None or identity == "YES",
        is_generated=virtual == "YES" or identity == "YES",
        length=int(length) if is_text and unit == "C" else None,
        octets=int(octets),
        precision=None if precision is None else int(precision),
        scale=None if scale is None else int(scale),
        fraction=int(scale or 0) if kind.startswith("timestamp") else None,
        charset=charset if is_text else None,
        collation=None if exact else str(collation),
    )


def _shown(found: Row, kind: str) -> str:
    _, declared, octets, length, unit, precision, scale = found[:7]
    if kind in ("varchar2", "char"):
        return f"{kind}({int(length)} CHAR)" if unit == "C" else f"{kind}({int(octets)} BYTE)"
    if kind == "raw":
        return f"raw({int(octets)})"
    if kind == "number" and (precision, scale) != (None, None):
        return f"number({'*' if precision is None else int(precision)},{int(scale or 0)})"
    return str(declared).lower()
