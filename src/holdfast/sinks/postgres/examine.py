"""Whether a table can still hold what its ledger row says: truncated or restored alone, it cannot.

Data and ledger are written in one transaction, and go back together when a whole database is
restored. A table that was emptied or restored alone leaves the ledger behind, and Spark would never
run those batches again. Deleting rows is the right of whoever owns the table: it is noticed here
only when none is left. Rows of tables that inherit from it are not the stream's: batches do not go
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.ledger.row import NO_BATCH
from holdfast.sinks.postgres.ledger_rows import STORAGE, pin_storage
from holdfast.sinks.postgres.storage import find_change, table_oid
from holdfast.sinks.postgres.witness import Witness, find_missing, keep_witness, read_witness

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.target import Table

LOCK_TIMEOUT_MS = 10_000
"""For a table that somebody has locked; a start says so and does not wait for ever."""

_FOUND = f"""\
SELECT l.target, coalesce((to_jsonb(l) ->> 'brought')::bigint, (SELECT sum(h.rows)
    FROM holdfast.history h
    WHERE (h.stream, h.sink) = (l.stream, l.sink)), 0),
    (SELECT {STORAGE} FROM pg_class c WHERE c.oid = to_regclass(%s)),
    to_jsonb(l) ->> 'witness', to_jsonb(l) ? 'witness'
FROM holdfast.ledger l WHERE l.stream = %s AND l.sink = %s"""  # noqa: S608 - no value in it


def examine(connection: psycopg.Connection, row: LedgerRow, table: Table) -> str | None:
    """Say what shows that the table lacks what was brought into it; None if nothing does.

    A table that was only rewritten (VACUUM FULL, a restore of everything) still has all its rows.
    Rows are counted, and looked for, only when its storage has changed.
    """
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())
        found = _find(connection, row, table)
        return None if found is None else _judge(connection, row, table, found=found)


def pin(connection: psycopg.Connection, row: LedgerRow, table: Table) -> None:
    """Write down the storage and some rows of the table, if it still holds what was brought."""
    found = _find(connection, row, table)
    if found is None or found.storage is None:
        return
    if _judge(connection, row, table, found=found) is None:
        pin_storage(connection, row, storage=found.storage)
        if found.can_remember:
            keep_witness(connection, row, table, storage=found.storage)


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """What the ledger row says of the table, and its storage now."""

    pinned: str | None
    brought: int
    storage: str | None
    """None when there is no table."""
    witness: Witness | None
    """Some of its rows, if they were taken from the storage that the row names."""
    can_remember: bool
    """Whether the ledger's tables are new enough for that."""


def _find(connection: psycopg.Connection, row: LedgerRow, table: Table) -> _Found | None:
    found = connection.execute(_FOUND.encode(), (table.name, row.stream, row.sink)).fetchone()
    if found is None:
        return None
    pinned, brought, storage, text, can_remember = found
    witness = read_witness(text)
    is_of_it = witness is not None and witness.storage == pinned
    return _Found(
        pinned=pinned,
        brought=brought,
        storage=storage,
        witness=witness if is_of_it else None,
        can_remember=can_remember,
    )


def _judge(
    connection: psycopg.Connection, row: LedgerRow, table: Table, *, found: _Found
) -> str | None:
    """Return what contradicts the row."""
    pinned, brought, storage = found.pinned, found.brought, found.storage
    change = None if pinned is None else find_change(pinned, storage)
    if storage is None:
        return change if brought else None
    if pinned is None or change is None:
        is_empty = brought and not _has_rows(connection, table)
        return f"it is empty, and {brought:,} rows were written into it" if is_empty else None
    elsewhere = _find_elsewhere(connection, pinned, storage)
    if elsewhere is not None:
        why = f"its rows went into {elsewhere}, and {table.display_name} is another table"
        return why if brought or row.last_batch > NO_BATCH else None
    there = _count(connection, table)
    if there < brought:
        return f"{change}: it holds {there:,} rows, and {brought:,} were written into it"
    if not brought or (not table.is_partitioned and _holds_batches(connection, row, table)):
        return None
    gone = find_missing(connection, table, found.witness, storage=storage)
    return None if gone is None else f"{change}: {gone}"


def _holds_batches(connection: psycopg.Connection, row: LedgerRow, table: Table) -> bool:
    """Return whether rows are there that a transaction of this stream has written.

    VACUUM FULL and CLUSTER leave that as it is; other rewrites and a restore do not.
    """
    rows = table.own_rows.replace("%", "%%")
    found = connection.execute(
        f"SELECT EXISTS (SELECT FROM {rows} t WHERE t.xmin IN (SELECT h.xmin"  # noqa: S608 - quoted
        " FROM holdfast.history h WHERE h.stream = %s AND h.sink = %s))".encode(),
        (row.stream, row.sink),
    ).fetchone()
    return bool(found and found[0])


def _find_elsewhere(connection: psycopg.Connection, pinned: str, storage: str) -> str | None:
    """Return the table that the row was written into, when it is there under another name."""
    oid = table_oid(pinned)
    if oid == table_oid(storage):
        return None
    found = connection.execute(
        "SELECT n.nspname || '.' || c.relname FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s",
        (oid,),
    ).fetchone()
    return found[0] if found else None


def _has_rows(connection: psycopg.Connection, table: Table) -> bool:
    statement = f"SELECT EXISTS (SELECT FROM {table.own_rows})"  # noqa: S608 - quoted
    found = connection.execute(statement.encode()).fetchone()
    return bool(found and found[0])


def _count(connection: psycopg.Connection, table: Table) -> int:
    found = connection.execute(f"SELECT count(*) FROM {table.own_rows}".encode()).fetchone()  # noqa: S608
    return int(found[0]) if found else 0
