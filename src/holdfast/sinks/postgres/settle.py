"""Brings a PostgreSQL table to a named state, in the transaction that sets its ledger row.

Rows that are taken away are copied into a table of their own first, in the same transaction: either
the copy is there, the rows are gone and the ledger row is set, or nothing of it happened. What was
done is written into `holdfast.settled`: by it, an undo finds the rows of a generation again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.events import emit
from holdfast.events.starts import SinkSettled
from holdfast.ledger.output import (
    CannotSettleError,
    EmptyOutput,
    ExchangeOutput,
    Output,
    RestoreOutput,
    is_copy,
)
from holdfast.sinks.postgres.examine import pin
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.put_back import put_back, triggers_off
from holdfast.sinks.postgres.target import quote_table
from holdfast.sinks.postgres.writers import XID, Life, find_writers

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.postgres.target import Table

_WRITE_DOWN = """\
INSERT INTO holdfast.settled (stream, sink, generation, epoch, last_batch, aside, taken, put_back,
    brought, xid, settled_at)
SELECT stream, sink, generation, epoch, last_batch, %s, %s, %s, brought,
    pg_current_xact_id()::text::bigint, now()
FROM holdfast.ledger WHERE stream = %s AND sink = %s"""


class LedgerRowChangedError(Exception):
    """The ledger row is not the one that was named: the transaction is taken back."""


class Settling(msgspec.Struct, frozen=True, kw_only=True):
    """One table that is brought to a named state, within the transaction there is."""

    connection: psycopg.Connection
    table: Table
    is_keyed: bool
    seen: str | None = None
    """What told the table's content apart when the plan was made; None: not compared."""

    def settle(self, old: LedgerRow | None, new: LedgerRow, output: Output) -> None:
        """Settle the table and set the row.

        Raises:
            LedgerRowChangedError: The row is another one; the transaction must be taken back.
            CannotSettleError: The copy that is named cannot be one or is gone, or the table has
                other rows than the plan saw.
        """
        aside: str | None = None
        taken, back = 0, 0
        match output:
            case EmptyOutput():
                aside, taken = output.kept, self._empty(self._checked(output.kept))
            case RestoreOutput():
                aside, taken = output.aside, self._empty(self._checked(output.aside))
                back = put_back(self.connection, self.table, self._checked(output.kept))
            case ExchangeOutput():
                aside = output.aside
                taken, back = self._exchange(new, output)
            case _:
                pass
        emit(SinkSettled(new.stream, new.sink))
        if not replace_row(self.connection, old, new, target=self.table.name):
            raise LedgerRowChangedError
        pin(self.connection, new, self.table)
        given = (aside, taken, back, new.stream, new.sink)
        self.connection.execute(_WRITE_DOWN, given)

    def _checked(self, kept: str) -> str:
        if not is_copy(kept):
            raise self._refuse(f"{kept} is not the name of a copy.")
        return quote_table(kept)

    def _lock(self) -> None:
        statement = f"LOCK TABLE {self.table.name} IN ACCESS EXCLUSIVE MODE"
        self.connection.execute(statement.encode())

    def _empty(self, kept: str) -> int:
        """Copy every row aside, and empty the table."""
        self._lock()
        if self.seen is not None and describe_table(self.connection, self.table)[0] != self.seen:
            raise self._refuse("Its rows have changed since the plan was made.")
        rows = self.table.own_rows
        self.connection.execute(f"CREATE TABLE {kept} AS SELECT * FROM {rows}".encode())  # noqa: S608 - quoted
        taken = count_rows(self.connection, kept)
        if taken != count_rows(self.connection, rows):
            raise self._refuse("The copy has another number of rows.")
        self.connection.execute(f"TRUNCATE {rows}".encode())
        return taken

    def _exchange(self, new: LedgerRow, output: ExchangeOutput) -> tuple[int, int]:
        """Take the rows of one generation away, and put kept rows back; others' rows stay."""
        self._lock()
        life = Life(new.stream, new.sink, output.generation)
        found = find_writers(self.connection, self.table, life, is_keyed=self.is_keyed)
        if found.since.unclear:
            raise self._refuse(f"Its rows cannot be told apart: {found.since.unclear}.")
        if output.rows not in (None, found.since.own_rows):
            raise self._refuse("The stream's own rows have changed since the plan was made.")
        taken = self._take(self._checked(output.aside), found.own)
        if output.kept is None:
            return taken, 0
        return taken, put_back(self.connection, self.table, self._checked(output.kept))

    def _take(self, aside: str, own: tuple[int, ...]) -> int:
        rows = self.table.own_rows.replace("%", "%%")
        mine = f"FROM {rows} t WHERE {XID} = ANY (%s)"
        statement = f"CREATE TABLE {aside} AS SELECT t.* {mine}"
        # CREATE TABLE takes no values from outside the statement.
        numbers = f"'{{{','.join(map(str, own))}}}'::bigint[]"
        self.connection.execute(statement.replace("%s", numbers).replace("%%", "%").encode())
        kept = count_rows(self.connection, aside)
        with triggers_off(self.connection, self.table):
            gone = self.connection.execute(f"DELETE {mine}".encode(), (list(own),)).rowcount
        if gone != kept:
            raise self._refuse(f"{kept:,} rows were copied aside, and {gone:,} deleted.")
        return gone

    def _refuse(self, why: str) -> CannotSettleError:
        return CannotSettleError(self.table.display_name, why)


def count_rows(connection: psycopg.Connection, rows: str) -> int:
    """Return how many rows there are of what a statement names."""
    found = connection.execute(f"SELECT count(*) FROM {rows}".encode()).fetchone()  # noqa: S608 - quoted
    return int(found[0]) if found else 0


def describe_table(connection: psycopg.Connection, table: Table) -> tuple[str, int]:
    """Return what tells a table's content apart, and how many rows it has.

    Each row counts with where it is and which transaction wrote it: an update changes both.
    """
    row = "hashtextextended(concat_ws(' ', tableoid, ctid, xmin), 0)"
    query = f"SELECT count(*), coalesce(sum({row}), 0) FROM {table.own_rows}"  # noqa: S608 - quoted
    found = connection.execute(query.encode()).fetchone()
    rows, versions = found or (0, 0)
    return f"{table.storage} {rows} rows {int(versions) % 2**64:016x}", int(rows)
