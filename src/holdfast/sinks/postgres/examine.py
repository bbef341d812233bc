"""Whether a table can still hold what its ledger row says: truncated or restored alone, it cannot.

Data and ledger are written in one transaction, and go back together when a whole database is
restored. A table that was emptied or restored alone leaves the ledger behind, and Spark would never
run those batches again. Deleting rows is the right of whoever owns the table: it is noticed here
only when none is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.ledger.postgres import STORAGE, pin_storage
from holdfast.ledger.row import NO_BATCH
from holdfast.sinks.postgres.storage import find_change, table_oid

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
    (SELECT {STORAGE} FROM pg_class c WHERE c.oid = to_regclass(%s))
FROM holdfast.ledger l WHERE l.stream = %s AND l.sink = %s"""  # noqa: S608 - no value in it


def examine(connection: psycopg.Connection[Any], row: LedgerRow, table: Table) -> str | None:
    """Say what shows that the table lacks what was brought into it; None if nothing does.

    A table that was only rewritten (VACUUM FULL, a restore of everything) still has all its rows.
    Rows are counted only when its storage has changed.
    """
    with connection.transaction():
        connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())
        contradicts, _ = _judge(connection, row, table)
    return contradicts


def pin(connection: psycopg.Connection[Any], row: LedgerRow, table: Table) -> None:
    """Write down the storage that the table has now, if it still holds what was brought."""
    contradicts, storage = _judge(connection, row, table)
    if contradicts is None and storage is not None:
        pin_storage(connection, row, storage=storage)


def _judge(
    connection: psycopg.Connection[Any], row: LedgerRow, table: Table
) -> tuple[str | None, str | None]:
    """Return what contradicts the row, and the table's storage."""
    found = connection.execute(_FOUND.encode(), (table.name, row.stream, row.sink)).fetchone()
    if found is None:
        return None, None
    pinned, brought, storage = found
    change = None if pinned is None else find_change(pinned, storage)
    if storage is None:
        return change if brought else None, None
    if change is None:
        is_empty = brought and not _has_rows(connection, table)
        gone = f"it is empty, and {brought:,} rows were written into it"
        return gone if is_empty else None, storage
    elsewhere = _find_elsewhere(connection, pinned, storage)
    if elsewhere is not None:
        why = f"its rows went into {elsewhere}, and {table.shown} is another table"
        return why if brought or row.last_batch > NO_BATCH else None, storage
    there = _count(connection, table)
    if there >= brought:
        return None, storage
    return f"{change}: it holds {there:,} rows, and {brought:,} were written into it", storage


def _find_elsewhere(connection: psycopg.Connection[Any], pinned: str, storage: str) -> str | None:
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


def _has_rows(connection: psycopg.Connection[Any], table: Table) -> bool:
    statement = f"SELECT EXISTS (SELECT FROM {table.name})"  # noqa: S608 - quoted
    found = connection.execute(statement.encode()).fetchone()
    return bool(found and found[0])


def _count(connection: psycopg.Connection[Any], table: Table) -> int:
    found = connection.execute(f"SELECT count(*) FROM {table.name}".encode()).fetchone()  # noqa: S608
    return int(found[0]) if found else 0
