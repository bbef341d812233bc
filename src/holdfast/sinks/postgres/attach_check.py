"""Whether batches can be attached to a table as partitions, seen before anything is written.

Rows are copied into a table of their own, which becomes a partition later. So whatever PostgreSQL
does to rows that are inserted through the parent has not happened to them: triggers, publications
and identity columns of the parent are refused by name. Foreign keys and a default partition are
refused because ATTACH would read all rows while it holds its locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.sinks.failures import TableError
from holdfast.sinks.postgres.target import PART, Attaching, quote

if TYPE_CHECKING:
    import psycopg

PARTED = f"{quote(PART)} bigint NOT NULL"
BY_PART = f"PARTITION BY LIST ({quote(PART)})"
_FOUND = """\
SELECT n.nspname, c.relname,
    c.relkind = 'p' AND pg_get_partkeydef(c.oid) = %s,
    EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = %s
        AND a.atttypid = 'int8'::regtype AND a.attnotnull AND NOT a.attisdropped
        AND a.attidentity = '' AND a.attgenerated = ''),
    (SELECT min(a.attname) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attidentity <> ''
        AND a.attname <> ALL (%s)),
    pg_get_userbyid(c.relowner) = current_user, has_schema_privilege(n.oid, 'CREATE'),
    current_user::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)"""
_BARRIERS = """\
SELECT (SELECT min(t.tgname) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal),
    (SELECT min(k.conname) FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'f'),
    (SELECT min(p.relname) FROM pg_partitioned_table t JOIN pg_class p ON p.oid = t.partdefid
        WHERE t.partrelid = c.oid),
    (SELECT min(p.pubname) FROM pg_publication p WHERE p.pubinsert AND (p.puballtables
        OR EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = c.oid)
        {schemas})),
    (SELECT min(p.relname) FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent
        WHERE i.inhrelid = c.oid)
FROM pg_class c WHERE c.oid = to_regclass(%s)"""
_SCHEMAS = """OR EXISTS (SELECT FROM pg_publication_namespace s
            WHERE s.pnpubid = p.oid AND s.pnnspid = c.relnamespace)"""
_WITH_SCHEMAS = 150_000
"""The version of PostgreSQL since which publications can name schemas."""
_KINDS = (
    (
        "the trigger",
        "which does not run for rows that are attached",
        "DROP TRIGGER {name} ON {table};",
    ),
    (
        "the foreign key",
        "which ATTACH would check row by row",
        "ALTER TABLE {table} DROP CONSTRAINT {name};",
    ),
    (
        "the default partition",
        "which ATTACH would read completely",
        "ALTER TABLE {table} DETACH PARTITION {name};",
    ),
    (
        "the publication",
        "which does not send rows that are attached",
        "-- leave {table} out of the publication {name}",
    ),
    (
        "the parent table",
        "whose bounds ATTACH would check row by row",
        "ALTER TABLE {name} DETACH PARTITION {table};",
    ),
)


def check_attachable(
    connection: psycopg.Connection, shown: str, name: str, *, given: Sequence[str], create: str
) -> Attaching:
    """Return where batches are attached.

    Args:
        connection: To the database.
        shown: The table, as people write it.
        name: The table, quoted.
        given: The stream's columns.
        create: The statement that makes such a table.

    Raises:
        TableError: Batches cannot be attached to the table; it names the SQL.
    """
    if PART in given:
        why = f"The stream has a column {PART}, which parallel= sets itself."
        raise TableError(shown, why=why, sql=f"-- select something else than {PART}")
    values = (f"LIST ({PART})", PART, list(given), name)
    found = connection.execute(_FOUND, values).fetchone()
    assert found is not None  # the table was found before
    namespace, relation, is_listed, has_part, identity, *rights = found
    if not (is_listed and has_part):
        why = f"parallel= needs a table with a column {PARTED}, and {BY_PART}."
        aside = f"ALTER TABLE {name} RENAME TO {quote(f'{relation}_before')};"
        raise TableError(shown, why=why, sql=f"{aside} {create}")
    if identity is not None:
        why = f"Its column {identity} is an identity column, which partitions do not have."
        sql = f"ALTER TABLE {name} ALTER COLUMN {quote(identity)} DROP IDENTITY;"
        raise TableError(shown, why=why, sql=sql)
    lacking = _find_lacking(rights, name, namespace) or find_barrier(connection, name)
    if lacking is not None:
        raise TableError(shown, why=f"{lacking.why[0].upper()}{lacking.why[1:]}.", sql=lacking.sql)
    return Attaching(namespace=namespace, relation=relation)


class Barrier(NamedTuple):
    """Why batches cannot be attached, and what removes that."""

    why: str
    sql: str


def _find_lacking(rights: Sequence[object], name: str, namespace: str) -> Barrier | None:
    owns, may_create, user = rights
    role = quote(str(user))
    if not owns:
        return Barrier(
            f"the role {user} does not own the table, and parallel= attaches partitions to it",
            f"ALTER TABLE {name} OWNER TO {role};",
        )
    if not may_create:
        return Barrier(
            f"the role {user} may not create the tables that parallel= attaches in its schema",
            f"GRANT CREATE ON SCHEMA {quote(namespace)} TO {role};",
        )
    return None


def find_barrier(connection: psycopg.Connection, name: str) -> Barrier | None:
    """Return what would pass by the rows of attached partitions; None if nothing would."""
    schemas = _SCHEMAS if connection.info.server_version >= _WITH_SCHEMAS else ""
    found = connection.execute(_BARRIERS.format(schemas=schemas).encode(), (name,)).fetchone()
    for value, (kind, effect, sql) in zip(found or (), _KINDS, strict=False):
        if value is not None:
            remedy = sql.format(table=name, name=quote(value))
            return Barrier(f"it has {kind} {value}, {effect}", remedy)
    return None


def takes_parts(connection: psycopg.Connection, name: str) -> bool:
    """Return whether batches are attached to a table, by how it is partitioned."""
    statement = "SELECT pg_get_partkeydef(to_regclass(%s)) = %s"
    found = connection.execute(statement, (name, f"LIST ({PART})")).fetchone()
    return bool(found and found[0])


def of_snapshot(name: str) -> str:
    """Return what a statement reads to see the partitions of its snapshot, and no later ones.

    Args:
        name: A table to which batches are attached, quoted.
    """
    text = "'" + name.replace("'", "''") + "'"
    return (
        f"(SELECT * FROM {name} WHERE tableoid IN (SELECT inhrelid"  # noqa: S608 - quoted
        f" FROM pg_catalog.pg_inherits WHERE inhparent = {text}::regclass)) AS of_snapshot"
    )
