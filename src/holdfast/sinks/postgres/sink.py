"""`hf.Postgres`: a table of PostgreSQL as an exactly-once sink."""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.sinks.merging import check_keys, check_output_mode
from holdfast.sinks.postgres.failures import LostAnswerError, is_gone, naming_refusals, refusal_of
from holdfast.sinks.postgres.session import Patience, Session
from holdfast.sinks.secrets import Secret, shown_name

if TYPE_CHECKING:
    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.postgres.large import ExecutorCheck
    from holdfast.sinks.postgres.target import Target
    from holdfast.sinks.sink import BeforeCommit

_LOG = logging.getLogger("holdfast")


class Postgres:
    """A table of PostgreSQL: appended to, or merged into by `keys`."""

    def __init__(
        self,
        dsn: Secret,
        *,
        table: str,
        keys: Sequence[str] = (),
        sequence_by: str | None = None,
        name: str | None = None,
    ) -> None:
        """Describe the sink; nothing is connected to yet.

        Args:
            dsn: `env:NAME`, `file:PATH`, or a function that returns it.
            table: The table, with its schema where it is not `public`.
            keys: Columns by which rows are merged; without them rows are appended.
            sequence_by: The column that says which of two rows with one key is newer.
            name: Its label in a ledger that does not know the table yet; by default the table.

        Raises:
            ConfigError: `sequence_by` without `keys`.
        """
        self._dsn = dsn
        self._table = table
        self.keys = check_keys(keys, sequence_by)
        self.sequence_by = sequence_by
        self._name = name or table
        self._target: Target | None = None
        self._identity: str | None = None
        self._session = Session(dsn)
        self._executors: ExecutorCheck | None = None

    @property
    def name(self) -> str:
        """Its label in the ledger; once it is prepared, the one its table has there already."""
        return self._name

    @property
    def shown(self) -> str:
        """As people know it; once it is prepared, with its schema."""
        return f"the PostgreSQL table {self._target.shown if self._target else self._table}"

    @property
    def place(self) -> str:
        """The table, and by what name its database is known: its address is a secret."""
        return f"postgresql:{self._table}@{shown_name(self._dsn)}"

    @property
    def identity(self) -> str:
        """Server, database and table; once it is prepared, the same however they are named."""
        return self._identity or self.place

    @property
    def is_appending(self) -> bool:
        """Whether it appends."""
        return not self.keys

    def prepare(self, df: Any, *, stream: str, output_mode: str) -> Postgres:
        """Return this sink for one start, once its table takes the rows of a streaming DataFrame.

        What is returned has its own connection and its own table: two streams can share one sink.
        """
        check_output_mode(output_mode, self.shown, keys=self.keys)
        mine = copy.copy(self)
        mine.open(df, stream)
        return mine

    def open(self, df: Any, stream: str) -> None:
        """Connect, and find the table and the label that the ledger has for it."""
        from holdfast.ledger.postgres import find_identity, find_label
        from holdfast.ledger.postgres_tables import ensure_tables
        from holdfast.sinks.postgres.large import ExecutorCheck
        from holdfast.sinks.postgres.storage import table_oid
        from holdfast.sinks.postgres.table import check_table, find_schema

        schema = find_schema(df, self._table)
        self._session = Session(self._dsn)
        with naming_refusals(self.shown), self._session.closing_on_error() as connection:
            ensure_tables(connection)
            self._target = check_table(
                connection, self._table, schema, keys=self.keys, sequence_by=self.sequence_by
            )
            oid = table_oid(self._target.storage)
            self._identity = find_identity(connection, oid)
            label = find_label(connection, stream, oid, name=self._name)
        if label not in (None, self._name):
            _LOG.info("holdfast: %s has the ledger row %s of %s", self.shown, label, stream)
        self._name = label or self._name
        self._executors = ExecutorCheck(df.sparkSession, self._dsn)

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the ledger row of a stream; a connection that died meanwhile is made anew."""
        with naming_refusals(self.shown):
            return self._read_row(stream)

    def _read_row(self, stream: str) -> LedgerRow | None:
        from holdfast.ledger.postgres import read_row

        return self._session.ask(lambda connection: read_row(connection, stream, self._name))

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table was emptied or replaced; None if nothing does."""
        from holdfast.sinks.postgres.examine import examine

        target = self._prepared
        with naming_refusals(self.shown):
            return self._session.ask(lambda connection: examine(connection, row, target))

    def replace_row(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch."""
        from holdfast.ledger.postgres import replace_row
        from holdfast.sinks.postgres.fence import take

        connection, name = self._session.connection(), self._prepared.name
        with naming_refusals(self.shown):
            return take(connection, new, lambda: replace_row(connection, old, new, target=name))

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None if the row is not this start's to take."""
        from holdfast.ledger.postgres import fence
        from holdfast.sinks.postgres.examine import pin
        from holdfast.sinks.postgres.fence import take

        connection, target = self._session.connection(), self._prepared

        def fence_and_pin() -> LedgerRow | None:
            fenced = fence(connection, row, epoch=epoch, nonce=nonce)
            if fenced is not None:
                pin(connection, fenced, target)
            return fenced

        with naming_refusals(self.shown):
            return take(connection, row, fence_and_pin)

    def find_native(self, query_id: str) -> int | None:
        """Return None: rows of a writer without a ledger do not say which batch they are."""
        del query_id
        return None

    def fence_native(self, query_id: str) -> None:
        """Do nothing: PostgreSQL cannot tell a writer that is not ours from any other."""

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        self._session.close()

    def write(
        self, attempt: Attempt, batch: Any, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and write it when it is to be applied.

        While the server is away it is tried again, for a bounded time. Every try asks the ledger
        first, so a batch whose answer was lost is not written twice.
        """
        from psycopg import Error

        from holdfast.sinks.postgres.connect import ConnectError

        patience = Patience(self.shown, attempt.batch_id)
        while True:
            try:
                return self._write_once(attempt, batch, before_commit)
            except (ConnectError, LostAnswerError) as error:
                before_commit(0)  # nobody waits for a query that is being stopped
                if not patience.wait(error):
                    raise
            except Error as error:
                raise refusal_of(error, self.shown, attempt.batch_id) from error

    def _write_once(self, attempt: Attempt, batch: Any, before_commit: BeforeCommit) -> Decision:
        from holdfast.sinks.postgres.large import is_large

        # Asked once before, so that a batch that is there is not computed again.
        before = decide(self._read_row(attempt.stream), attempt)
        if not isinstance(before, Apply):
            return before
        write = self._write_in_task if is_large(batch) else self._write_here
        return write(attempt, batch, before_commit)

    def _write_here(self, attempt: Attempt, batch: Any, before_commit: BeforeCommit) -> Decision:
        """Write a batch from the driver, unless it turns out to be too large."""
        from psycopg import Error

        from holdfast.sinks.postgres.collect import TooLargeError, collected
        from holdfast.sinks.postgres.large import budget_of
        from holdfast.sinks.postgres.write import write_batch

        connection = self._session.connection()
        try:
            with collected(batch, budget=budget_of(batch.sparkSession)) as batches:
                written = write_batch(
                    connection,
                    self._prepared,
                    attempt,
                    batches=batches,
                    before_commit=before_commit,
                )
        except TooLargeError:
            return self._write_in_task(attempt, batch, before_commit)
        except Error as error:
            if is_gone(connection, error):
                return self._settle(attempt)
            raise refusal_of(error, self.shown, attempt.batch_id) from error
        return written.decision

    def _write_in_task(self, attempt: Attempt, batch: Any, before_commit: BeforeCommit) -> Decision:
        """Write a batch that is too large for the driver from one task on an executor."""
        from pyspark.errors import PySparkException

        from holdfast.sinks.postgres.large import ExecutorLacksError, write_in_task

        if missing := self._executors.missing() if self._executors else []:
            raise ExecutorLacksError(self.shown, missing)
        try:
            return write_in_task(
                batch, self._prepared, attempt, dsn=self._dsn, before_commit=before_commit
            )
        except PySparkException:
            # The task may have failed after its commit: the ledger knows.
            decision = self._ask_under_lock(attempt)
            if isinstance(decision, Apply):
                raise
            return decision

    def _settle(self, attempt: Attempt) -> Decision:
        """Say what became of a batch whose connection broke: the ledger knows, we never guess."""
        from psycopg import OperationalError

        try:
            decision = self._ask_under_lock(attempt)
        except OperationalError as error:
            raise LostAnswerError(self.shown, attempt.batch_id, arrived=None) from error
        if isinstance(decision, Apply):
            raise LostAnswerError(self.shown, attempt.batch_id, arrived=False)
        return decision

    def _ask_under_lock(self, attempt: Attempt) -> Decision:
        """Read the ledger when the session that may still be committing is done with the row."""
        from holdfast.ledger.postgres import read_row
        from holdfast.sinks.postgres.fence import take

        self.close()
        connection, of = self._session.connection(), (attempt.stream, attempt.sink)
        row = take(connection, attempt, lambda: read_row(connection, *of, lock=True), point="asked")
        return decide(row, attempt)

    @property
    def _prepared(self) -> Target:
        """The table, found by `prepare`."""
        assert self._target is not None
        return self._target
