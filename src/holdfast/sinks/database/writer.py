"""Writes the batches of one start into a table of a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.events.starts import SinkAsked
from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.sinks.database import ledger_rows
from holdfast.sinks.database.failures import DatabaseAwayError, DatabaseRefusedError
from holdfast.sinks.database.ledger import DatabaseLedgerStore
from holdfast.sinks.failures import LostAnswerError
from holdfast.sinks.retry import RetryBudget
from holdfast.sinks.sink import SinkWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.database.ledger_rows import Kept
    from holdfast.sinks.database.sink import Database
    from holdfast.sinks.database.target import Found, Target
    from holdfast.sinks.sink import BeforeCommit


def resolve_writer(sink: Database, df: DataFrame, stream: str) -> DatabaseWriter:
    """Connect, check the table against a streaming DataFrame, and find the ledger's row for it.

    Raises:
        HoldfastError: The table does not take the rows, or the database cannot be used.
    """
    from holdfast.sinks.arrow_columns import find_schema
    from holdfast.sinks.database.table import check_table

    schema = find_schema(df, sink.table)
    ledger = DatabaseLedgerStore(sink)
    session = ledger.session
    with session.naming_refusals(), session.closing_on_error():
        found, connection = ledger.find(), session.connection()
        target = check_table(session.dialect, sink, schema, found=found, is_merged=True)
        server = session.dialect.identify(connection, session.address)
        session.shown = target.display_name
        ledger.find_label(stream)
        warnings = session.dialect.warnings(connection)
    return DatabaseWriter(
        sink,
        ledger=ledger,
        target=target,
        stream=stream,
        found=(f"{server}/{target.place}", warnings),
    )


class DatabaseWriter(SinkWriter):
    """One start's connection to one table."""

    _sink: Database

    def __init__(
        self,
        sink: Database,
        *,
        ledger: DatabaseLedgerStore,
        target: Target,
        stream: str,
        found: tuple[str, tuple[str, ...]],
    ) -> None:
        """Write nothing yet.

        Args:
            sink: As the user wrote it.
            ledger: Its ledger.
            target: The table.
            stream: Whose start it is.
            found: The table's identity, and what people should know of its server.
        """
        super().__init__(sink)
        self._ledger = ledger
        self.target = target
        self._stream = stream
        self._identity, self._warnings = found

    @property
    def name(self) -> str:
        """The label that the ledger has for the table."""
        return self._ledger.label(self._stream)

    @property
    def display_name(self) -> str:
        """The table with its database."""
        return self.target.display_name

    @property
    def identity(self) -> str:
        """Server, database and table, the same however they are named."""
        return self._identity

    @property
    def ledger(self) -> DatabaseLedgerStore:
        """Its ledger, over the same connection."""
        return self._ledger

    def warnings(self) -> tuple[str, ...]:
        """Return what people should know of the server."""
        return self._warnings

    def create(self) -> None:
        """Create the ledger's table; the table itself is its owner's to create."""
        session = self._ledger.session
        with session.naming_refusals():
            ledger_rows.create_table(session.dialect, session.connection())

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        self._ledger.close()

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and write it when it is to be applied.

        While the server is away it is tried again, for a bounded time. Every try asks the ledger
        first, so a batch whose answer was lost is not written twice.
        """
        patience = RetryBudget(self.display_name, attempt.batch_id)
        while True:
            try:
                return self._write_once(attempt, batch, before_commit)
            except (DatabaseAwayError, LostAnswerError, DatabaseRefusedError) as error:
                before_commit(0)  # nobody waits for a query that is being stopped
                if not patience.wait(error):
                    raise

    def _write_once(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        with self._ledger.session.naming_refusals(attempt.batch_id):
            # Asked once before, so that a batch that is there is not computed again.
            before = decide(self._ledger.read_row(attempt.stream), attempt)
        if not isinstance(before, Apply):
            return before
        try:
            return self._write(attempt, batch, before_commit)
        except self._ledger.session.dialect.errors as error:
            trouble = self._ledger.session.dialect.trouble_of(error)
            if trouble is None:
                raise
        if trouble.is_gone:
            return self._settle(attempt)
        raise DatabaseRefusedError(self.display_name, attempt.batch_id, trouble)

    def _write(self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit) -> Decision:
        from holdfast.sinks.collect import BatchTooLargeError, TooLargeError, budget_of, collected
        from holdfast.sinks.database.write import write_batch

        try:
            with collected(batch, budget=budget_of(batch.sparkSession)) as batches:
                return write_batch(
                    self._ledger,
                    self.target,
                    attempt,
                    batches=batches,
                    before_commit=before_commit,
                )
        except TooLargeError:
            raise BatchTooLargeError(self.display_name, attempt.batch_id) from None

    def _settle(self, attempt: Attempt) -> Decision:
        """Say what became of a batch whose connection broke: the ledger knows, we never guess."""
        self._ledger.close()
        try:
            decision = self._ask_under_lock(attempt)
        except (DatabaseAwayError, DatabaseRefusedError) as error:
            raise LostAnswerError(self.display_name, attempt.batch_id, arrived=None) from error
        if isinstance(decision, Apply):
            raise LostAnswerError(self.display_name, attempt.batch_id, arrived=False)
        return decision

    def _ask_under_lock(self, attempt: Attempt) -> Decision:
        """Read the ledger when the session that may still be committing is done with the row.

        A driver that was replaced sees that without a lock, and ends no session of its successor.
        """
        with self._ledger.session.naming_refusals(attempt.batch_id):
            row = self._ledger.read_row(attempt.stream)
            decision = decide(row, attempt)
            if row is None or not isinstance(decision, Apply):
                return decision

            def read(kept: Kept | None, found: Found | None) -> LedgerRow | None:
                del found
                return None if kept is None else kept.row

            return decide(self._ledger.take(row, read, done=SinkAsked), attempt)
