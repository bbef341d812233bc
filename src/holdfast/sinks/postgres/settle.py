"""Brings a PostgreSQL table to a named state, in the transaction that sets its ledger row.

Rows that are taken away are copied into a table of their own first, in the same transaction: either
the table is empty, the copy is there and the row is set, or nothing of it happened.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from holdfast.ledger.output import CannotSettleError, EmptyOutput, Output, RestoreOutput
from holdfast.ledger.postgres import replace_row
from holdfast.points import reached
from holdfast.sinks.postgres.target import quote_table

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.target import Table

KEPT = re.compile(r"holdfast\.kept_[0-9a-z_]{1,50}")
"""What a copy may be called: a plan is input from anybody, and names a table here."""


class OtherRowError(Exception):
    """The ledger row is not the one that was named: the transaction is taken back."""


def settle_table(
    connection: psycopg.Connection[Any],
    old: LedgerRow | None,
    new: LedgerRow,
    *,
    table: Table,
    output: Output,
) -> None:
    """Settle the table and set the row, within the transaction there is.

    Raises:
        OtherRowError: The row is another one; the transaction must be taken back.
        CannotSettleError: The copy that is named cannot be one, or is gone.
    """
    match output:
        case EmptyOutput(kept=kept):
            _empty(connection, table, _checked(table, kept))
        case RestoreOutput(kept=kept, aside=aside):
            _empty(connection, table, _checked(table, aside))
            _restore(connection, table, _checked(table, kept))
        case _:
            pass
    reached("settled")
    if not replace_row(connection, old, new, target=table.name):
        raise OtherRowError


def _checked(table: Table, kept: str) -> str:
    if not KEPT.fullmatch(kept):
        raise CannotSettleError(table.shown, f"{kept} is not the name of a copy.")
    return quote_table(kept)


def _empty(connection: psycopg.Connection[Any], table: Table, kept: str) -> None:
    connection.execute(f"LOCK TABLE {table.name} IN ACCESS EXCLUSIVE MODE".encode())
    connection.execute(f"CREATE TABLE {kept} AS TABLE {table.name}".encode())
    if _count(connection, kept) != _count(connection, table.name):
        raise CannotSettleError(table.shown, "The copy has another number of rows.")
    connection.execute(f"TRUNCATE {table.name}".encode())


def _restore(connection: psycopg.Connection[Any], table: Table, kept: str) -> None:
    found = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (kept,)).fetchone()
    if not found or not found[0]:
        raise CannotSettleError(table.shown, f"The copy {kept} is gone.")
    columns = _columns(connection, table)
    connection.execute(
        f"INSERT INTO {table.name} ({columns}) OVERRIDING SYSTEM VALUE"  # noqa: S608 - quoted
        f" SELECT {columns} FROM {kept}".encode()
    )
    if _count(connection, kept) != _count(connection, table.name):
        raise CannotSettleError(table.shown, "It has another number of rows than the copy.")


def _columns(connection: psycopg.Connection[Any], table: Table) -> str:
    """Return the columns that take values, quoted."""
    found = connection.execute(
        "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute"
        " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"
        " AND attgenerated = ''",
        (table.name,),
    ).fetchone()
    return str(found[0]) if found else ""


def _count(connection: psycopg.Connection[Any], name: str) -> int:
    found = connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchone()  # noqa: S608 - quoted
    return int(found[0]) if found else 0


def describe_table(connection: psycopg.Connection[Any], table: Table) -> tuple[str, int]:
    """Return what tells a table's content apart, and how many rows it has.

    Each row counts with where it is and which transaction wrote it: an update changes both.
    """
    row = "hashtextextended(concat_ws(' ', tableoid, ctid, xmin), 0)"
    query = f"SELECT count(*), coalesce(sum({row}), 0) FROM {table.name}"  # noqa: S608 - quoted
    found = connection.execute(query.encode()).fetchone()
    rows, versions = found or (0, 0)
    return f"{table.storage} {rows} rows {int(versions) % 2**64:016x}", int(rows)
