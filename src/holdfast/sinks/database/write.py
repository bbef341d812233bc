"""One batch into a database: data and ledger in one transaction (S2 to S6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from holdfast.events import emit
from holdfast.events.batches import (
    BatchFields,
    Committed,
    Decided,
    LedgerAdvanced,
    RowsSent,
    RowsWritten,
    StepOpened,
    fields_of,
)
from holdfast.ledger.decide import Apply, Decision, Refuse, decide
from holdfast.ledger.row import advance
from holdfast.sinks.arrow_columns import InexactError
from holdfast.sinks.database.examine import find_change, find_other_shape
from holdfast.sinks.database.failures import InexactRowsError
from holdfast.sinks.database.mariadb_send import ChangedRowsError
from holdfast.sinks.database.merge import Merge
from holdfast.sinks.failures import ValueRefusedError
from holdfast.sinks.table_changed import TableChangedError

if TYPE_CHECKING:
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.database.dialect import Connection, Dialect
    from holdfast.sinks.database.ledger import DatabaseLedgerStore
    from holdfast.sinks.database.ledger_rows import Kept
    from holdfast.sinks.database.target import Found, Target
    from holdfast.sinks.sink import BeforeCommit
    from holdfast.spark.arrow import RecordBatch


def write_batch(
    ledger: DatabaseLedgerStore,
    target: Target,
    attempt: Attempt,
    *,
    batches: Iterable[RecordBatch],
    before_commit: BeforeCommit,
) -> Decision:
    """Decide about a batch and, when it is to be applied, write it; in one transaction.

    Args:
        ledger: Of the sink; its connection is not in a transaction.
        target: The table.
        attempt: The batch.
        batches: Its record batches; not touched unless it is applied.
        before_commit: Called last, with the number of rows; what it raises rolls everything back.

    Raises:
        TableChangedError: The table is not the one that the stream has written into so far.
        UnmergeableRowsError, ValueRefusedError, InexactRowsError: The table would not hold the
            rows as they are.
        Exception: The driver's, when the server did not take it. When that happens in the commit
            it may have.
    """
    step = _Step(ledger=ledger, target=target, attempt=attempt)
    with step.dialect.held(step.connection, ledger.lock_name(attempt.stream), ends_others=False):
        if target.keys:
            step.merge.stage()
        with step.dialect.transaction(step.connection):  # S2
            decision = step.take(batches, before_commit)
    emit(Committed(**step.at))  # S6
    return decision


class _Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is done inside the transaction of one batch."""

    ledger: DatabaseLedgerStore
    target: Target
    attempt: Attempt

    @property
    def at(self) -> BatchFields:
        """What its events say of the batch."""
        return fields_of(self.attempt)

    @property
    def dialect(self) -> Dialect:
        """Of the database."""
        return self.ledger.session.dialect

    @property
    def connection(self) -> Connection:
        """The one that the transaction is in."""
        return self.ledger.session.connection()

    @property
    def merge(self) -> Merge:
        """The batch by its keys."""
        return Merge(dialect=self.dialect, connection=self.connection, target=self.target)

    def take(self, batches: Iterable[RecordBatch], before_commit: BeforeCommit) -> Decision:
        """Decide about the batch and, when it is to be applied, write it with its ledger row."""
        found = self.look()
        emit(StepOpened(**self.at))
        kept = self.ledger.kept(self.attempt.stream, lock=True)
        decision = self.decide(kept, found)  # S3
        emit(Decided(**self.at, decision=decision.word))
        if kept is None or found is None or not isinstance(decision, Apply):
            return decision
        rows, added = self.write_rows(batches)  # S4
        emit(RowsWritten(**self.at))
        self.advance(kept, found, added=added)  # S5
        emit(LedgerAdvanced(**self.at))
        before_commit(rows)
        return decision

    def look(self) -> Found | None:
        """Keep the table as it is until the transaction ends, and look at it."""
        if replaced := self.dialect.find_replaced(self.connection):
            raise self._changed(replaced)
        try:
            self.dialect.ask(self.connection, self.dialect.touch(self.target.name))
        except self.dialect.errors as error:
            trouble = self.dialect.trouble_of(error)
            if trouble is None or not trouble.has_no_table:
                raise
            changed = self._changed("it was dropped or renamed")
        else:
            return self.dialect.find(self.connection, self.target.table)
        raise changed

    def decide(self, kept: Kept | None, found: Found | None) -> Decision:
        """Decide about the batch, and see that the table is the one the row was written into."""
        decision = decide(None if kept is None else kept.row, self.attempt)
        if kept is None or isinstance(decision, Refuse):
            return decision
        changed = find_change(
            self.dialect, self.connection, kept, name=self.target.name, found=found
        )
        changed = changed or find_other_shape(self.target, found)
        if changed is not None:
            raise self._changed(changed)
        return decision

    def write_rows(self, batches: Iterable[RecordBatch]) -> tuple[int, int]:
        """Write the rows; return how many came, and how many more the table has now."""
        if not self.target.keys:
            rows = self._send(batches, into=self.target.name)
            return rows, rows
        rows = self._send(batches, into=self.dialect.batch)
        return rows, self.merge.merge()

    def _send(self, batches: Iterable[RecordBatch], *, into: str) -> int:
        rows = 0
        for batch in batches:
            landed = self._send_one(batch, into=into)
            if landed != batch.num_rows:
                why = f"The database has taken {landed:,} of {batch.num_rows:,} rows."
                raise self._inexact(why)
            rows += landed
            emit(RowsSent(**self.at, rows=rows))
        return rows

    def _send_one(self, batch: RecordBatch, *, into: str) -> int:
        shown, number = self.target.display_name, self.attempt.batch_id
        try:
            return self.dialect.send(self.connection, batch, target=self.target, into=into)
        except InexactError as error:
            column = self.target.columns[error.place]
            raise ValueRefusedError(shown, number, column=column, why=str(error)) from error
        except ChangedRowsError as error:
            why = f"The database has warned {error.warnings:,} times that it changed values."
            raise self._inexact(why) from error

    def advance(self, kept: Kept, found: Found, *, added: int) -> None:
        """Write down that the batch has arrived."""
        self.ledger.keep(
            msgspec.structs.replace(
                kept,
                row=advance(kept.row, self.attempt),
                pin=found.pin,
                brought=kept.brought + added,
            )
        )

    def _changed(self, why: str) -> TableChangedError:
        return TableChangedError(self.target.display_name, self.attempt.batch_id, why=why)

    def _inexact(self, why: str) -> InexactRowsError:
        return InexactRowsError(self.target.display_name, self.attempt.batch_id, why=why)
