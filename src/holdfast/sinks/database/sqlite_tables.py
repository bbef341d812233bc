"""A table of SQLite, from the schema of its file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from holdfast.sinks.database.effects import say_child
from holdfast.sinks.database.target import Column, Found

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection, Dialect

_GENERATED = (2, 3)
_AFFINITIES = (
    ("int", "integer"),
    ("char", "text"),
    ("clob", "text"),
    ("text", "text"),
    ("blob", "blob"),
    ("real", "real"),
    ("floa", "real"),
    ("doub", "real"),
)
"""From SQLite's documentation, "Determination Of Column Affinity": the first that is found."""


def affinity_of(declared: str) -> str:
    """Return what a column makes of values, by its declared type."""
    text = declared.lower()
    if not text:
        return "blob"
    return next((affinity for part, affinity in _AFFINITIES if part in text), "numeric")


def find(dialect: Dialect, connection: Connection, table: str) -> Found | None:
    """Return what there is to know of a table; None when there is none of this name."""
    found = dialect.ask(
        connection,
        "SELECT name, type, sql, rowid FROM main.sqlite_master WHERE lower(name) = lower(?)"
        " AND type IN ('table', 'view')",
        (table,),
    )
    if not found:
        return None
    name, kind, sql, number = found[0]
    problem = None
    if kind != "table" or str(sql).lower().startswith("create virtual"):
        problem = "It is a view or a virtual table; rows and ledger would not be one step."
    ((encoding,),) = dialect.ask(connection, "PRAGMA main.encoding")
    if encoding != "UTF-8":
        problem = f"The file keeps texts as {encoding}, which orders them by other bytes."
    quoted = dialect.quote(name)
    columns = dialect.ask(connection, f"PRAGMA main.table_xinfo({quoted})")
    return Found(
        place=f"main.{name}",
        problem=problem,
        fix="-- name a table of a file in UTF-8",
        pin=_pin(dialect, connection, name, number=number, sql=str(sql)),
        columns={
            column: Column(
                name=column,
                kind=affinity_of(declared),
                shown=declared or "a column without a type",
                is_nullable=not required and not key,
                has_default=not required or default is not None,
                is_generated=hidden in _GENERATED,
            )
            for _, column, declared, required, default, key, hidden in columns
        },
        uniques=_uniques(dialect, connection, quoted, columns=columns),
    )


def _pin(dialect: Dialect, connection: Connection, name: str, *, number: int, sql: str) -> str:
    """Return what changes when a table is dropped and created again, even with the same text.

    SQLite gives a new table the number after the highest. While something else has a higher one, no
    table gets this number again. Else the file's schema version tells, which all DDL changes.
    """
    pin = f"{number} {hashlib.sha256(sql.encode()).hexdigest()[:16]}"
    statement = "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE rowid > ? AND tbl_name <> ?)"
    ((is_older,),) = dialect.ask(connection, statement, (number, name))
    if is_older:
        return pin
    ((version,),) = dialect.ask(connection, "PRAGMA main.schema_version")
    return f"{pin} {version}"


_TRIGGERS = """\
SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND lower(tbl_name) = lower(?) LIMIT 1"""
_CHILDREN = """\
SELECT m.name FROM main.sqlite_master m, pragma_foreign_key_list(m.name, 'main') k
WHERE m.type = 'table' AND lower(k."table") = lower(?) AND lower(m.name) <> lower(?)
    AND k.on_delete NOT IN ('RESTRICT', 'NO ACTION')
LIMIT 1"""


def find_effect(
    dialect: Dialect, connection: Connection, table: str, *, deletes: bool
) -> str | None:
    """Say which foreign key or trigger does something else when rows are moved.

    Only the text of a trigger says what it waits for, so any is taken for one of these.
    """
    if triggers := dialect.ask(connection, _TRIGGERS, (table,)):
        return f"its trigger {triggers[0][0]} could do something else with them"
    children = dialect.ask(connection, _CHILDREN, (table, table)) if deletes else []
    return say_child(children[0][0]) if children else None


def _uniques(
    dialect: Dialect, connection: Connection, quoted: str, *, columns: list[tuple[object, ...]]
) -> tuple[frozenset[str], ...]:
    """Return the unique indexes that are whole and compare bytes."""
    key = [str(column[1]) for column in columns if column[5]]
    found = []
    if len(key) == 1 and any(
        column[5] and str(column[2]).upper() == "INTEGER" for column in columns
    ):
        found.append(frozenset(key))  # the rowid, which has no index
    for _, index, is_unique, _, is_partial in dialect.ask(
        connection, f"PRAGMA main.index_list({quoted})"
    ):
        parts = dialect.ask(connection, f"PRAGMA main.index_xinfo({dialect.quote(index)})")
        named = [part for part in parts if part[5]]
        is_whole = all(part[2] is not None and part[4] == "BINARY" for part in named)
        if is_unique and not is_partial and is_whole:
            found.append(frozenset(str(part[2]) for part in named))
    return tuple(found)
