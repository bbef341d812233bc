"""One batch into PostgreSQL: data and ledger in one transaction (S2 to S6).

Runs on the driver, or in one task on an executor: the standard library, pyarrow and psycopg alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from holdfast.sinks.arrow_columns import InexactError
from holdfast.sinks.failures import ValueRefusedError
from holdfast.sinks.postgres.encode import HEADER, TRAILER, encode_batch
from holdfast.sinks.postgres.failures import DroppedRowsError
from holdfast.sinks.postgres.fence import session_name
from holdfast.sinks.postgres.ledger_rows import advance_row, pin_storage
from holdfast.sinks.postgres.look import Look, look_under_lock
from holdfast.sinks.postgres.merge import STAGING, merge, stage
from holdfast.sinks.postgres.storage import table_oid
from holdfast.sinks.postgres.witness import BATCHES_BETWEEN, keep_witness
from holdfast.sinks.table_changed import TableChangedError

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.postgres.target import Target
    from holdfast.sinks.sink import BeforeCommit

Piece = tuple[bytes | memoryview, int]
"""Rows as COPY takes them, and how many there are."""
LOCK_TIMEOUT_MS = 60_000
IDLE_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a batch."""

    decision: Decision
    rows: int


def write_batch(
    connection: psycopg.Connection,
    target: Target,
    attempt: Attempt,
    *,
    batches: Iterable[pa.RecordBatch] | RowsInParts,
    before_commit: BeforeCommit = lambda _: None,
) -> Written:
    """Decide about a batch and, when it is to be applied, write it; in one transaction.

    Args:
        connection: Not in a transaction; it is committed or rolled back here.
        target: The table.
        attempt: The batch.
        batches: Its rows; not touched unless it is applied.
        before_commit: Called last, with the number of rows; what it raises rolls everything back.

    Raises:
        TableChangedError: The table is not the one that the stream has written into so far.
        UnmergeableRowsError, ValueRefusedError, DroppedRowsError: The table would not hold the
            rows as they are.
        psycopg.Error: The server did not take it. When that happens in the commit it may have.
    """
    step = BatchTransaction(connection=connection, target=target, attempt=attempt)
    with connection.transaction():  # S2
        step.lock_table()
        emit(StepOpened(**step.at))
        look = look_under_lock(connection, target, attempt)
        decision = step.decide(look)  # S3
        emit(Decided(**step.at, decision=decision.word))
        rows = 0
        if isinstance(decision, Apply):
            rows, added = step.write_rows(batches, look)  # S4
            emit(RowsWritten(**step.at))
            advance_row(connection, attempt, rows=rows, added=added)  # S5
            step.pin(look, batches)
            emit(LedgerAdvanced(**step.at))
            before_commit(rows)
    emit(Committed(**step.at))  # S6
    return Written(decision=decision, rows=rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTransaction:
    """The atomic step of one batch: what is done inside its transaction."""

    connection: psycopg.Connection
    target: Target
    attempt: Attempt

    @property
    def at(self) -> BatchFields:
        """What its events say of the batch."""
        return fields_of(self.attempt)

    def lock_table(self) -> None:
        """Keep the table as it is until the transaction ends; others may read and write rows.

        What is set holds for this transaction alone: behind a proxy the session is shared. The
        table is locked before the ledger row, so that a driver that waits for it does not hold up
        a fence.
        """
        from psycopg import errors

        name = session_name(self.attempt.stream, self.attempt.sink)
        # What ATTACH takes later: whoever waits for this table then would wait for the ledger row.
        mode = "ROW EXCLUSIVE" if self.target.attaching is None else "SHARE UPDATE EXCLUSIVE"
        try:
            self.connection.execute(
                "SET LOCAL transaction_isolation = 'read committed';"
                " SET LOCAL client_encoding = 'UTF8';"
                f" SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS};"
                f" SET LOCAL idle_in_transaction_session_timeout = {IDLE_TIMEOUT_MS};"
                f" SET LOCAL application_name = '{name}';"
                f" LOCK TABLE ONLY {self.target.name} IN {mode} MODE".encode()
            )
        except (errors.UndefinedTable, errors.InvalidSchemaName, errors.WrongObjectType) as error:
            raise self._changed("it was dropped or renamed") from error

    def decide(self, look: Look) -> Decision:
        """Decide about the batch, and see that the table is the one the row was written into."""
        decision = decide(look.row, self.attempt)
        if look.changed is not None and not isinstance(decision, Refuse):
            raise self._changed(look.changed)
        return decision

    def write_rows(
        self, batches: Iterable[pa.RecordBatch] | RowsInParts, look: Look
    ) -> tuple[int, int]:
        """Write the rows; return how many came, and how many more the table has now."""
        if not self.target.keys:
            rows = self._copy(batches, into=self.target.name)
            return rows, rows
        stage(self.connection, self.target)
        rows = self._copy(batches, into=STAGING)
        return rows, merge(self.connection, self.target, has_triggers=look.has_triggers)

    def pin(self, look: Look, batches: Iterable[pa.RecordBatch] | RowsInParts = ()) -> None:
        """See that the rows went into the table that is locked, and keep its storage if it is new.

        Statements name the table, and renaming its schema takes no lock on it.
        """
        found = self.connection.execute(
            "SELECT to_regclass(%s)::oid::bigint", (self.target.name,)
        ).fetchone()
        if found is None or found[0] != table_oid(self.target.storage):
            raise self._changed("its name stands for another table since the batch began")
        if look.row is None or look.storage is None:
            return
        if isinstance(batches, RowsInParts) and batches.pin(self, look.row):
            return
        is_new = look.new_storage is not None
        if is_new:
            pin_storage(self.connection, look.row, storage=look.storage)
        if is_new or look.has_no_witness or self.attempt.batch_id % BATCHES_BETWEEN == 0:
            keep_witness(self.connection, look.row, self.target, storage=look.storage)

    def _changed(self, why: str) -> TableChangedError:
        return TableChangedError(self.target.display_name, self.attempt.batch_id, why=why)

    def _copy(self, batches: Iterable[pa.RecordBatch] | RowsInParts, *, into: str) -> int:
        if isinstance(batches, RowsInParts):
            return batches.copy_into(self, into)
        number = self.attempt.batch_id
        pieces = ((encode_rows(self.target, each, number), each.num_rows) for each in batches)
        return self.send(pieces, into=into)

    def send(self, pieces: Iterable[Piece], *, into: str) -> int:
        """Send encoded rows into a table; return how many there were."""
        with self.connection.cursor() as cursor:
            rows = copy_rows(cursor, self.target, pieces, into=into, sent=self._say_sent)
            if cursor.rowcount != rows:
                raise DroppedRowsError(self.target.display_name, rows - cursor.rowcount)
        return rows

    def _say_sent(self, rows: int) -> None:
        emit(RowsSent(**self.at, rows=rows))


class RowsInParts(ABC):
    """Rows that do not come as record batches: they were staged before."""

    @abstractmethod
    def copy_into(self, step: BatchTransaction, table: str) -> int:
        """Bring the rows into a table; return how many there were."""

    def pin(self, step: BatchTransaction, row: LedgerRow) -> bool:
        """Keep the table's storage, if bringing the rows has changed it; return whether it has."""
        del step, row
        return False


def copy_rows(
    cursor: psycopg.Cursor,
    target: Target,
    pieces: Iterable[Piece],
    *,
    into: str,
    sent: Callable[[int], None] = lambda _: None,
) -> int:
    """Copy encoded rows into a table; return how many there were.

    Args:
        cursor: Inside a transaction.
        target: Its columns are those of the rows.
        pieces: Rows, with how many there are in each piece.
        into: The table, quoted.
        sent: Called after each piece, with how many are sent so far.
    """
    from holdfast.sinks.postgres.send import Sender

    rows = 0
    # A table that is attached later was created by this transaction, which FREEZE asks for.
    options = "(FORMAT binary, FREEZE)" if target.attaching else "BINARY"
    statement = f"COPY {into} ({target.column_list}) FROM STDIN {options}".encode()
    with cursor.copy(statement, writer=Sender(cursor)) as stream:
        stream.write(HEADER)
        for piece, count in pieces:
            stream.write(piece)
            rows += count
            sent(rows)
        stream.write(TRAILER)
    return rows


def encode_rows(target: Target, batch: pa.RecordBatch, batch_id: int) -> memoryview:
    """Return the rows of a record batch as COPY takes them.

    Raises:
        ValueRefusedError: The table would not hold a value as it is.
    """
    try:
        return encode_batch(batch, target.encoders)
    except InexactError as error:
        column = target.columns[error.place]
        raise ValueRefusedError(
            target.display_name, batch_id, column=column, why=str(error)
        ) from error
