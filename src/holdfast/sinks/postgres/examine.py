"""Whether a table can still hold what its ledger row says: truncated or restored without it, no.

Data and ledger are written in one transaction, and go back together when a whole database is
restored. A table that was emptied or restored alone leaves the ledger behind, and Spark would never
run those batches again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.ledger.postgres import TARGET

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.table import Target


def examine(connection: psycopg.Connection[Any], row: LedgerRow, target: Target) -> str | None:
    """Say what shows that the table was emptied or replaced since its last batch; None if nothing.

    A table that was only rewritten (VACUUM FULL) and appended to still has all its rows. Rows are
    counted only when something is wrong.
    """
    found = connection.execute(
        f"SELECT target, {TARGET}, rows FROM holdfast.ledger"  # noqa: S608 - no value in it
        " WHERE stream = %s AND sink = %s".encode(),
        (target.name, row.stream, row.sink),
    ).fetchone()
    if found is None or found[0] is None:  # nothing of ours was written yet
        return None
    is_same, brought_rows = found[0] == found[1], bool(found[2])
    if is_same and (not brought_rows or _has_rows(connection, target)):
        return None
    written = _count_written(connection, row)
    there = _count(connection, f"SELECT count(*) FROM {target.name}")  # noqa: S608 - quoted
    if there >= written and not target.keys:
        return None
    how = "is empty" if is_same else "was truncated, restored or rewritten since"
    return f"it {how}: it holds {there:,} rows, and {written:,} were written into it"


def _has_rows(connection: psycopg.Connection[Any], target: Target) -> bool:
    statement = f"SELECT EXISTS (SELECT FROM {target.name})"  # noqa: S608 - quoted
    found = connection.execute(statement.encode()).fetchone()
    return bool(found and found[0])


def _count_written(connection: psycopg.Connection[Any], row: LedgerRow) -> int:
    return _count(
        connection,
        "SELECT coalesce(sum(rows), 0)::bigint FROM holdfast.history"
        " WHERE stream = %s AND sink = %s",
        row.stream,
        row.sink,
    )


def _count(connection: psycopg.Connection[Any], statement: str, *values: str) -> int:
    found = connection.execute(statement.encode(), values).fetchone()
    return int(found[0]) if found else 0
