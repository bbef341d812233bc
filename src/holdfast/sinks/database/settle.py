"""Brings a table to a named state, in the transaction that sets its ledger row.

Rows that are taken away are copied into a table of their own. Creating a table ends a transaction
in MariaDB, so the copy is made empty before; it is filled, the rows are deleted and the ledger row
is set in one transaction. A copy that a kill leaves behind is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from holdfast.events import emit
from holdfast.events.starts import SinkSettled
from holdfast.ledger.output import (
    CannotSettleError,
    EmptyOutput,
    ExchangeOutput,
    KeepOutput,
    Output,
    RestoreOutput,
    is_copy,
)
from holdfast.ledger.store import Since
from holdfast.sinks.database import ledger_rows
from holdfast.sinks.database.examine import count_rows
from holdfast.sinks.database.ledger_rows import Kept

if TYPE_CHECKING:
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.database.dialect import Connection, Dialect
    from holdfast.sinks.database.session import Session
    from holdfast.sinks.database.sink import Database
    from holdfast.sinks.database.target import Found


class SettledLedger(Protocol):
    """The ledger of the table that is settled."""

    sink: Database
    session: Session

    @property
    def name(self) -> str:
        """The table, quoted."""

    def find_label(self, stream: str) -> str:
        """Ask the ledger for the name of its row; from then on it is the same."""

    def find(self) -> Found | None:
        """Return what the database says of the table; None when there is none."""

    def kept(self, stream: str) -> Kept | None:
        """Return what is kept of a stream, within the transaction there is."""

    def keep(self, kept: Kept, *, is_new: bool) -> None:
        """Write what is kept, within the transaction there is."""


class RowChangedError(Exception):
    """The ledger row is not the one that was named: the transaction is taken back."""


def find_since(
    dialect: Dialect, connection: Connection, kept: Kept | None, *, name: str, generation: int
) -> Since:
    """Tell by the ledger row whether batches have come since a generation was opened."""
    opening = None if kept is None else kept.opening
    if kept is None or opening is None or opening.generation != generation:
        return Since(unclear="the ledger does not tell how the generation was opened")
    if opening.opened_at is None:
        return Since(unclear="its row was set again within the generation")
    if opening.puts_rows or kept.row.last_batch > opening.opened_at:
        return Since(unclear="rows do not tell which batch brought them")
    if opening.version is None:
        return Since(own_rows=0)
    now = dialect.version(connection, name)
    others = () if now == opening.version else ("another writer has changed the table",)
    return Since(own_rows=0, others=others)


class Settling(msgspec.Struct, frozen=True, kw_only=True):
    """One table that is brought to a named state."""

    ledger: SettledLedger
    output: Output
    seen: str | None = None
    """What told the table's content apart when the plan was made; None: not compared."""

    @property
    def _dialect(self) -> Dialect:
        return self.ledger.session.dialect

    @property
    def _connection(self) -> Connection:
        return self.ledger.session.connection()

    @property
    def _aside(self) -> str | None:
        """The copy that rows are taken into; None if none are taken."""
        match self.output:
            case EmptyOutput():
                return self.output.kept
            case RestoreOutput() | ExchangeOutput():
                return self.output.aside
            case _:
                return None

    @property
    def _back(self) -> str | None:
        """The copy whose rows come back; None if none do."""
        return self.output.kept if isinstance(self.output, RestoreOutput | ExchangeOutput) else None

    def prepare(self, new: LedgerRow) -> None:
        """Make the ledger's table and the empty copy, before the transaction begins.

        Raises:
            CannotSettleError: It is already certain that the table cannot be settled.
        """
        ledger_rows.create_table(self._dialect, self._connection)
        self.ledger.find_label(new.stream)
        if isinstance(self.output, KeepOutput):
            return
        found = self.ledger.find()
        obstacle = self.find_obstacle(self.ledger.kept(new.stream), found, new)
        if obstacle is not None:
            raise self._refuse(obstacle)
        if self._aside is not None and self._dialect.find(self._connection, self._aside) is None:
            of = {"kept": self._copy(self._aside), "name": self.ledger.name}
            self._dialect.run(self._connection, self._dialect.copies_rows.format(**of))

    def find_obstacle(self, kept: Kept | None, found: Found | None, new: LedgerRow) -> str | None:
        """Say why the table cannot be settled, as far as that shows; None if nothing does."""
        shown = self.ledger.sink.display_name
        bad = [name for name in (self._aside, self._back) if name and not is_copy(name)]
        if bad:
            return f"{bad[0]} is not the name of a copy."
        if found is None:
            return f"{shown} is gone."
        if (why := self._find_immovable(found)) is not None:
            return why
        if isinstance(self.output, ExchangeOutput):
            generation = self.output.generation
            name = self.ledger.name
            since = find_since(
                self._dialect, self._connection, kept, name=name, generation=generation
            )
            if since.unclear:
                return f"{shown} cannot be put back: {since.unclear}."
        if isinstance(self.output, EmptyOutput) and (others := self._others(new.stream, found)):
            return (
                f"{shown} has rows of {', '.join(others)}, which would be taken away too. Move "
                "them elsewhere, or use --output keep-from-here."
            )
        return None

    def _find_immovable(self, found: Found) -> str | None:
        """Say why rows could not be moved so that they, and all others, stay as they are."""
        shown, table = self.ledger.sink.display_name, self.ledger.sink.table
        if self._back is not None and (why := self._find_misfit(self._back, found)):
            return f"The rows of {shown} cannot be put back: {why}."
        deletes = not isinstance(self.output, ExchangeOutput)
        effect = self._dialect.find_effect(self._connection, table, deletes=deletes)
        if effect is None:
            return None
        return f"No row of {shown} can be moved: {effect}. Drop that, and create it afterwards."

    def _others(self, stream: str, found: Found) -> tuple[str, ...]:
        return ledger_rows.find_other_streams(
            self._dialect, self._connection, stream, place=found.place
        )

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, *, kept: Kept | None, found: Found | None
    ) -> None:
        """Settle the table and set the row, within the transaction there is.

        Raises:
            RowChangedError: The row is another one; the transaction must be taken back.
            CannotSettleError: The table has other rows than the plan saw.
        """
        if (None if kept is None else kept.row) != old:
            raise RowChangedError
        is_kept = isinstance(self.output, KeepOutput)
        version, puts_rows = None, False
        if not is_kept:
            obstacle = self.find_obstacle(kept, found, new)
            if obstacle is not None:
                raise self._refuse(obstacle)
            self._take()
            version = self._dialect.version(self._connection, self.ledger.name)
            puts_rows = self._put_back(found)
            emit(SinkSettled(stream=new.stream, sink=new.sink))
        brought = 0
        if ledger_rows.counts_rows(new) and found is not None:
            brought = count_rows(self._dialect, self._connection, self.ledger.name)
        self.ledger.keep(
            Kept(
                row=new,
                place=self.ledger.sink.table if found is None else found.place,
                pin="-" if found is None else found.pin,  # Oracle takes '' for NULL
                brought=brought,
                opening=ledger_rows.opened(new, kept, puts_rows=puts_rows, version=version),
            ),
            is_new=kept is None,
        )

    def _take(self) -> None:
        """Copy rows aside and delete them, unless an undo has none to take."""
        if self._aside is None or isinstance(self.output, ExchangeOutput):
            return
        dialect, connection, name = self._dialect, self._connection, self.ledger.name
        aside = self._copy(self._aside)
        if count_rows(dialect, connection, aside):
            raise self._refuse(f"The copy {self._aside} has rows already.")
        columns = self._given(self.ledger.find())
        taken = dialect.run(
            connection,
            f"INSERT INTO {aside} ({columns}) SELECT {columns} FROM {name}{dialect.locks_copied}",  # noqa: S608
        )
        if self.seen is not None and dialect.version(connection, name) != self.seen:
            raise self._refuse("Its rows have changed since the plan was made.")
        gone = dialect.run(connection, f"DELETE FROM {name}")  # noqa: S608 - quoted
        if gone != taken:
            raise self._refuse(f"{taken:,} rows were copied aside, and {gone:,} deleted.")

    def _put_back(self, found: Found | None) -> bool:
        """Insert the rows of a copy; return whether there were any."""
        if self._back is None:
            return False
        dialect, connection, kept = self._dialect, self._connection, self._copy(self._back)
        columns = self._given(dialect.find(connection, self._back), but_in=found)
        wanted = count_rows(dialect, connection, kept)
        back = dialect.run(
            connection,
            f"INSERT INTO {self.ledger.name} ({columns}) SELECT {columns} FROM {kept}",  # noqa: S608
        )
        if back != wanted:
            raise self._refuse("It took another number of rows than the copy has.")
        return back > 0

    def _find_misfit(self, back: str, found: Found) -> str:
        """Say why the rows of a copy would not be as they were; empty if they would."""
        copy = self._dialect.find(self._connection, back)
        if copy is None:
            return f"the copy {back} is gone"
        for name, column in copy.columns.items():
            now = found.columns.get(name)
            if now is None:
                return f"its column {name} is gone, and the kept rows have values for it"
            if not self._dialect.is_same_type(now, column):
                return f"its column {name} was {column.shown}, and is {now.shown} now"
        for name, now in found.columns.items():
            if name not in copy.columns and not now.has_default:
                return f"its new column {name} takes no NULL and has no default"
        return ""

    def _given(self, table: Found | None, *, but_in: Found | None = None) -> str:
        """Return the columns of a table that can be given, quoted."""
        columns = {} if table is None else table.columns
        there = columns if but_in is None else but_in.columns
        return ", ".join(
            self._dialect.quote(name)
            for name, column in columns.items()
            if not column.is_generated and not (name in there and there[name].is_generated)
        )

    def _copy(self, name: str) -> str:
        """Return a copy, quoted: its name has a point, which parts nothing."""
        return self._dialect.quote(name)

    def _refuse(self, why: str) -> CannotSettleError:
        return CannotSettleError(self.ledger.sink.display_name, why)
