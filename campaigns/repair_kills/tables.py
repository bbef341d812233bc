"""The tables in PostgreSQL: kept under a name, put back, and read."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

ASIDE = "kept_"
"""How tables begin that a plan has made."""
_LOG = ("holdfast", "settled")
"""Says what was done, one row per step: an undo adds to it."""
_OWN = ("epoch", "nonce", "committed_at", "xid")

Rows = dict[str, Counter[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of a database, Holdfast's own too."""

    dsn: str

    def never_wait_for_the_disk(self) -> None:
        """Have commits not wait for it: what a server has taken outlives its clients without."""
        with psycopg.connect(self.dsn) as connection:
            database = sql.Identifier(connection.info.dbname)
            setting = sql.SQL("alter database {} set synchronous_commit = off")
            connection.execute(setting.format(database))

    def keep(self, name: str) -> None:
        """Copy every table into a schema of this name."""
        with psycopg.connect(self.dsn) as connection:
            schema = sql.Identifier(name)
            connection.execute(sql.SQL("drop schema if exists {} cascade").format(schema))
            connection.execute(sql.SQL("create schema {}").format(schema))
            for each in _tables(connection):
                _copy(connection, each, (name, "_".join(each)))

    def put_back(self, name: str) -> None:
        """Make every table as it was kept; what a plan has made since goes."""
        with psycopg.connect(self.dsn) as connection:
            kept = _tables(connection, name)
            for each in _tables(connection):
                table, copy = sql.Identifier(*each), sql.Identifier(name, "_".join(each))
                if each[1].startswith(ASIDE):
                    connection.execute(sql.SQL("drop table {}").format(table))
                    continue
                connection.execute(sql.SQL("truncate {}").format(table))
                connection.execute(sql.SQL("insert into {} table {}").format(table, copy))
            for each in kept:
                schema, _, aside = each[1].partition("_")
                if aside.startswith(ASIDE):
                    _copy(connection, each, (schema, aside))

    def rows(self) -> Rows:
        """Return the rows of every table, without what each run has of its own."""
        found: Rows = {}
        with psycopg.connect(self.dsn) as connection:
            for each in _tables(connection):
                if each == _LOG:
                    continue
                query = sql.SQL("select * from {}").format(sql.Identifier(*each))
                cursor = connection.execute(query)
                names = [column.name for column in cursor.description or ()]
                wanted = [(at, name) for at, name in enumerate(names) if name not in _OWN]
                rows = (
                    tuple((name, _without_storage(name, row[at])) for at, name in wanted)
                    for row in cursor.fetchall()
                )
                found[".".join(each)] = Counter(rows)
        return found


def _copy(
    connection: psycopg.Connection[Any], table: tuple[str, str], copy: tuple[str, str]
) -> None:
    named = sql.Identifier(*copy), sql.Identifier(*table)
    connection.execute(sql.SQL("create table {} as table {}").format(*named))


def _tables(connection: psycopg.Connection[Any], *schemas: str) -> list[tuple[str, str]]:
    return connection.execute(
        "select schemaname, tablename from pg_tables where schemaname = any(%s) order by 1, 2",
        (list(schemas or ("public", "holdfast")),),
    ).fetchall()


def _without_storage(column: str, value: Any) -> Any:
    """Return a value; of a ledger's `oid/file` the table: one that is put back has other files.

    Of the rows that are remembered, their columns: which rows these are changes at every fence.
    """
    if column == "witness" and value is not None:
        return tuple(json.loads(value)["columns"])
    return str(value).partition("/")[0] if column == "target" else value
