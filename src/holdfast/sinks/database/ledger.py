"""The ledger of a table, opened from its spec: reads, fences and replaces a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

import msgspec

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.starts import SinkAsked, SinkFenced
from holdfast.ledger.output import KeepOutput
from holdfast.ledger.store import LedgerStore, Since, Unreadable
from holdfast.sinks.database import ledger_rows
from holdfast.sinks.database.examine import count_rows, find_change
from holdfast.sinks.database.session import Session
from holdfast.sinks.database.settle import RowChangedError, Settling, find_since

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.ledger.output import Output
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.database.dialect import Connection, Dialect
    from holdfast.sinks.database.ledger_rows import Kept
    from holdfast.sinks.database.sink import Database
    from holdfast.sinks.database.target import Found

Answer = TypeVar("Answer")


def open_ledger(
    sink: Database, spark: SparkSession | None = None, *, options: Mapping[str, str] | None = None
) -> DatabaseLedgerStore:
    """Open the ledger of a table; no session is needed."""
    del spark, options
    return DatabaseLedgerStore(sink)


class DatabaseLedgerStore(LedgerStore):
    """The ledger of one table. A row is found by the table's place, whatever label it has."""

    def __init__(self, sink: Database) -> None:
        """Connect to nothing yet."""
        self.sink = sink
        self.session = Session(sink.url, sink.display_name)
        self._labels: dict[str, str] = {}
        self._server: str | None = None

    def label(self, stream: str) -> str:
        """Return the name of the row that the ledger has for this table."""
        return self._labels.get(stream) or self.sink.label

    @property
    def name(self) -> str:
        """The table, quoted."""
        return self.session.dialect.quote_table(self.sink.table)

    def find_label(self, stream: str) -> str:
        """Ask the ledger for the name of its row; from then on it is the same."""

        def find(dialect: Dialect, connection: Connection) -> str | None:
            found = dialect.find(connection, self.sink.table)
            if found is None or not ledger_rows.has_table(dialect, connection):
                return None
            of = {"place": found.place, "name": self.sink.label}
            return ledger_rows.find_label(dialect, connection, stream, **of)

        if stream not in self._labels and (label := self.session.ask(find)):
            self._labels[stream] = label
        return self.label(stream)

    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the row of a stream; None without one, also where the ledger has no table yet."""
        try:
            with self.session.naming_refusals():
                self.find_label(stream)
                return self.read_row(stream)
        except HoldfastError as error:
            return Unreadable.by(error)

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the row of a stream."""
        kept = self.session.ask(
            lambda dialect, connection: (
                ledger_rows.read(dialect, connection, stream, sink=self.label(stream))
                if ledger_rows.has_table(dialect, connection)
                else None
            )
        )
        return None if kept is None else kept.row

    def kept(self, stream: str, *, lock: bool = False) -> Kept | None:
        """Return what is kept of a stream, within the transaction there is."""
        session, label = self.session, self.label(stream)
        return ledger_rows.read(
            session.dialect, session.connection(), stream, sink=label, lock=lock
        )

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table was emptied or replaced; None if nothing does."""

        def look(dialect: Dialect, connection: Connection) -> str | None:
            kept = ledger_rows.read(dialect, connection, row.stream, sink=row.sink)
            found = dialect.find(connection, self.sink.table)
            if kept is None:
                return None
            return find_change(dialect, connection, kept, name=self.name, found=found)

        with self.session.naming_refusals():
            return self.session.ask(look)

    def take(
        self,
        row: LedgerRow,
        change: Callable[[Kept | None, Found | None], Answer],
        *,
        done: type[SinkAsked | SinkFenced] = SinkFenced,
    ) -> Answer:
        """Change what is kept of a row under its lock, against whoever holds it (G5).

        Args:
            row: The row, for its stream.
            change: What is done in the transaction; takes what is kept, and the table.
            done: What has happened when it has been run.
        """
        dialect, connection = self.session.dialect, self.session.connection()
        lock = self.lock_name(row.stream)
        with dialect.held(connection, lock, ends_others=True), dialect.transaction(connection):
            if self.find() is not None:
                dialect.ask(connection, dialect.touch(self.name))
            changed = change(self.kept(row.stream, lock=True), self.find())
            emit(done(stream=row.stream, sink=row.sink))
        return changed

    def find(self) -> Found | None:
        """Return what the database says of the table; None when there is none."""
        return self.session.dialect.find(self.session.connection(), self.sink.table)

    def lock_name(self, stream: str) -> str:
        """Return the name of the lock of a stream in this sink: at most 64 characters."""
        session = self.session
        if self._server is None:
            self._server = session.dialect.identify(session.connection(), session.address)
        of = f"{self._server}/{session.address.database}/{stream}/{self.label(stream)}"
        return f"holdfast-{sha256(of.encode()).hexdigest()[:32]}"

    def keep(self, kept: Kept, *, is_new: bool = False) -> None:
        """Write what is kept, within the transaction there is."""
        ledger_rows.write(self.session.dialect, self.session.connection(), kept, is_new=is_new)

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""

        def set_epoch(kept: Kept | None, found: Found | None) -> LedgerRow | None:
            if kept is None or kept.row.epoch >= epoch or kept.row.binding != row.binding:
                return None
            fenced = replace(kept.row, epoch=epoch, nonce=nonce)
            self.keep(msgspec.structs.replace(self._pinned(kept, found), row=fenced))
            return fenced

        with self.session.naming_refusals(), self.session.closing_on_error():
            return self.take(row, set_epoch)

    def _pinned(self, kept: Kept, found: Found | None) -> Kept:
        """Return what is kept with the table's newest pin, if it still holds what was brought."""
        dialect, connection = self.session.dialect, self.session.connection()
        changed = find_change(dialect, connection, kept, name=self.name, found=found)
        if found is None or changed is not None:
            return kept
        return msgspec.structs.replace(kept, pin=found.pin)

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch."""
        return self.settle(old, new, KeepOutput())

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Empty, exchange or keep the rows of the table, and set its row, in one transaction."""
        settling = Settling(ledger=self, output=output, seen=seen)
        with self.session.naming_refusals(), self.session.closing_on_error():
            settling.prepare(new)
            try:
                self.take(
                    new, lambda kept, found: settling.settle(old, new, kept=kept, found=found)
                )
            except RowChangedError:
                return False
        return True

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say why the table could not be settled; nothing is tried."""
        if isinstance(output, KeepOutput):
            return None
        settling = Settling(ledger=self, output=output)
        with self.session.naming_refusals():
            self.find_label(new.stream)
            return self.session.ask(
                lambda *_: settling.find_obstacle(self.kept(new.stream), self.find(), new)
            )

    def since(self, stream: str, *, generation: int) -> Since:
        """Tell whether batches have come since a generation was opened.

        Rows do not tell whose they are: where batches came, they cannot be told apart.
        """
        with self.session.naming_refusals():
            self.find_label(stream)
            return self.session.ask(
                lambda dialect, connection: find_since(
                    dialect, connection, self.kept(stream), name=self.name, generation=generation
                )
            )

    def table_version(self, stream: str) -> str | None:
        """Return how many rows the table has, and a sum over all of them; None without a table."""
        del stream
        with self.session.naming_refusals():
            return self.session.ask(
                lambda dialect, connection: (
                    None if self.find() is None else dialect.version(connection, self.name)
                )
            )

    def count_rows(self) -> int | None:
        """Return how many rows the table has; None when there is no table."""
        with self.session.naming_refusals():
            return self.session.ask(
                lambda dialect, connection: (
                    None if self.find() is None else count_rows(dialect, connection, self.name)
                )
            )

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams that have a row for this table."""

        def find(dialect: Dialect, connection: Connection) -> tuple[str, ...]:
            found = self.find()
            if found is None or not ledger_rows.has_table(dialect, connection):
                return ()
            place = found.place
            return ledger_rows.find_other_streams(dialect, connection, stream, place=place)

        with self.session.naming_refusals():
            return self.session.ask(find)

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        self._server = None
        self.session.close()
