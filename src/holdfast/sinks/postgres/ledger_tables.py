"""The ledger's tables in PostgreSQL: created and upgraded by a start, or by a database owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    import psycopg

VERSION = 3
_NO_TABLES, _OLDER = -1, (1, 2)

_DDL = """\
CREATE SCHEMA IF NOT EXISTS holdfast;
CREATE TABLE IF NOT EXISTS holdfast.version (version integer NOT NULL);
CREATE TABLE IF NOT EXISTS holdfast.ledger (
    stream text NOT NULL,
    sink text NOT NULL,
    generation bigint NOT NULL,
    epoch bigint NOT NULL,
    nonce text NOT NULL,
    query_id text NOT NULL,
    checkpoint text NOT NULL,
    last_batch bigint NOT NULL,
    digest text,
    end_offsets text NOT NULL,
    target text,
    rows bigint,
    committed_at timestamptz,
    brought bigint NOT NULL DEFAULT 0,
    witness text,
    PRIMARY KEY (stream, sink)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS holdfast.history (
    stream text NOT NULL,
    sink text NOT NULL,
    generation bigint NOT NULL,
    batch bigint NOT NULL,
    epoch bigint NOT NULL,
    digest text NOT NULL,
    rows bigint NOT NULL,
    committed_at timestamptz NOT NULL,
    xid bigint,
    PRIMARY KEY (stream, sink, generation, batch, epoch)
);
CREATE TABLE IF NOT EXISTS holdfast.settled (
    stream text NOT NULL,
    sink text NOT NULL,
    generation bigint NOT NULL,
    epoch bigint NOT NULL,
    last_batch bigint NOT NULL,
    aside text,
    taken bigint NOT NULL,
    put_back bigint NOT NULL,
    brought bigint NOT NULL,
    xid bigint NOT NULL,
    settled_at timestamptz NOT NULL,
    PRIMARY KEY (stream, sink, generation, epoch)
);
INSERT INTO holdfast.version SELECT {version} WHERE NOT EXISTS (SELECT FROM holdfast.version);
ALTER TABLE holdfast.ledger ADD COLUMN IF NOT EXISTS brought bigint NOT NULL DEFAULT 0;
ALTER TABLE holdfast.history ADD COLUMN IF NOT EXISTS xid bigint;
ALTER TABLE holdfast.ledger ADD COLUMN IF NOT EXISTS witness text;
UPDATE holdfast.ledger l SET brought = (SELECT coalesce(sum(h.rows), 0) FROM holdfast.history h
    WHERE (h.stream, h.sink) = (l.stream, l.sink))
    WHERE EXISTS (SELECT FROM holdfast.version WHERE version < 2);
UPDATE holdfast.version SET version = {version} WHERE version < {version};
"""


class LedgerTablesError(HoldfastError):
    """The ledger's tables are not there, not ours to use, or of another version."""

    code = "LEDGER_TABLES"

    def __init__(self, *, why: str, how: str) -> None:
        super().__init__(what="The ledger in PostgreSQL cannot be used.", why=why, how=how)


def ddl() -> str:
    """Return the statements that make the ledger's tables; they can be run again."""
    return _DDL.format(version=VERSION)


def check_tables(connection: psycopg.Connection) -> bool:
    """Return whether the ledger's tables are there; nothing is created.

    Raises:
        LedgerTablesError: They are of a newer version, or are missing and cannot be created.
    """
    found = find_version(connection)
    if found not in (_NO_TABLES, VERSION, *_OLDER):
        raise _unknown_version(found)
    if found != VERSION and not _may_change(connection):
        state = "do not exist" if found == _NO_TABLES else f"are of version {found}"
        raise LedgerTablesError(
            why=f"Its tables {state}, and this role may not change that.",
            how="Ask a database owner to run the output of: holdfast ledger ddl",
        )
    return found != _NO_TABLES


def _may_change(connection: psycopg.Connection) -> bool:
    """Return whether this role may run the statements of `ddl`."""
    may = connection.execute(
        "SELECT has_database_privilege(current_database(), 'CREATE')"
        " AND coalesce((SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace"
        "               WHERE nspname = 'holdfast'), true)"
        " AND coalesce((SELECT bool_and(pg_has_role(c.relowner, 'USAGE')) FROM pg_class c"
        "               JOIN pg_namespace n ON n.oid = c.relnamespace"
        "               WHERE n.nspname = 'holdfast' AND c.relkind = 'r'), true)"
    ).fetchone()
    return bool(may and may[0])


def ensure_tables(connection: psycopg.Connection) -> None:
    """Make the ledger's tables where they are missing; leave the transaction as it was found.

    Raises:
        LedgerTablesError: They cannot be made, or are of a newer version.
    """
    from psycopg import errors

    found = find_version(connection)
    if found in (_NO_TABLES, *_OLDER):
        try:
            with connection.transaction():
                # One at a time: "IF NOT EXISTS" of two at once can still fail.
                connection.execute("SET LOCAL lock_timeout = '10s'")
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('holdfast.ddl'))")
                connection.execute(ddl().encode())
        except errors.InsufficientPrivilege as error:
            state = "do not exist" if found == _NO_TABLES else f"are of version {found}"
            raise LedgerTablesError(
                why=f"Its tables {state}, and this role may not change that: {error}".rstrip(),
                how="Ask a database owner to run the output of: holdfast ledger ddl",
            ) from error
        except errors.LockNotAvailable as error:
            raise LedgerTablesError(
                why="They must be created or upgraded, and another session holds a lock on them.",
                how="Stop the drivers that use them, and start again.",
            ) from error
        found = find_version(connection)
    if found != VERSION:
        raise _unknown_version(found)


def _unknown_version(found: int | None) -> LedgerTablesError:
    return LedgerTablesError(
        why=f"Its tables are of version {found}; this Holdfast knows {VERSION}.",
        how="Use the Holdfast that created them, or a newer one.",
    )


def find_version(connection: psycopg.Connection) -> int | None:
    """Return the version of the ledger's tables; None where they do not tell."""
    there = connection.execute("SELECT to_regclass('holdfast.version') IS NOT NULL").fetchone()
    if not there or not there[0]:
        return _NO_TABLES
    found = connection.execute("SELECT max(version) FROM holdfast.version").fetchone()
    return found[0] if found else None
