"""`hf.Postgres`: a table of PostgreSQL as an exactly-once sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, MissingExtraError
from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.sinks.merging import check_keys, check_output_mode
from holdfast.sinks.secrets import Secret, reveal, shown_name

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import Attempt, LedgerRow
    from holdfast.sinks.postgres.large import ExecutorCheck
    from holdfast.sinks.postgres.table import Target
    from holdfast.sinks.sink import BeforeCommit

TRIES_AFTER_LOST_ANSWER = 5


class LostAnswerError(HoldfastError):
    """The connection broke while a batch was written: it is not there, or cannot be asked for."""

    code = "LOST_ANSWER"

    def __init__(self, shown: str, batch_id: int, *, arrived: bool | None) -> None:
        known = "did not arrive in" if arrived is False else "may or may not be in"
        asked = "has no such batch" if arrived is False else "cannot be read"
        super().__init__(
            what=f"Batch {batch_id} {known} {shown}.",
            why=f"The connection broke while it was written, and the ledger {asked}.",
            how="Start the stream again: Spark runs the batch again, and the ledger decides.",
        )


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
            name: Identity in the ledger; by default the table.

        Raises:
            ConfigError: `sequence_by` without `keys`.
        """
        self._dsn = dsn
        self._table = table
        self.keys = check_keys(keys, sequence_by)
        self.sequence_by = sequence_by
        self._name = name or table
        self._target: Target | None = None
        self._connection: psycopg.Connection[Any] | None = None
        self._executors: ExecutorCheck | None = None

    @property
    def name(self) -> str:
        """Its identity in the ledger."""
        return self._name

    @property
    def shown(self) -> str:
        """As people know it."""
        return f"the PostgreSQL table {self._table}"

    @property
    def place(self) -> str:
        """The table, and by what name its database is known: its address is a secret."""
        return f"postgresql:{self._table}@{shown_name(self._dsn)}"

    @property
    def is_appending(self) -> bool:
        """Whether it appends."""
        return not self.keys

    def prepare(self, df: Any, *, output_mode: str) -> None:
        """Check, before any batch, that the table takes the rows of a streaming DataFrame."""
        from holdfast.ledger.postgres import ensure_tables
        from holdfast.sinks.postgres.large import ExecutorCheck
        from holdfast.sinks.postgres.table import check_table, find_schema

        check_output_mode(output_mode, self.shown, keys=self.keys)
        connection = self._connect()
        ensure_tables(connection)
        self._target = check_table(
            connection,
            self._table,
            find_schema(df, self._table),
            keys=self.keys,
            sequence_by=self.sequence_by,
        )
        self._executors = ExecutorCheck(df.sparkSession, self._dsn)

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the ledger row of a stream; a connection that died meanwhile is made anew."""
        from psycopg import OperationalError

        from holdfast.ledger.postgres import read_row

        try:
            return read_row(self._connect(), stream, self._name)
        except OperationalError:
            self.close()
            return read_row(self._connect(), stream, self._name)

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table was emptied or replaced; None if nothing does."""
        from holdfast.sinks.postgres.examine import examine

        assert self._target is not None
        return examine(self._connect(), row, self._target)

    def replace_row(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch."""
        from holdfast.ledger.postgres import replace_row
        from holdfast.sinks.postgres.fence import take

        assert self._target is not None
        connection, name = self._connect(), self._target.name
        return take(connection, new, lambda: replace_row(connection, old, new, target=name))

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None when the row is not its to take."""
        from holdfast.ledger.postgres import fence
        from holdfast.sinks.postgres.fence import take

        connection = self._connect()
        return take(connection, row, lambda: fence(connection, row, epoch=epoch, nonce=nonce))

    def find_native(self, query_id: str) -> int | None:
        """Return None: rows of a writer without a ledger do not say which batch they are."""
        del query_id
        return None

    def fence_native(self, query_id: str) -> None:
        """Do nothing: PostgreSQL cannot tell a writer that is not ours from any other."""

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def write(
        self, attempt: Attempt, batch: Any, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and write it when it is to be applied."""
        from holdfast.sinks.postgres.large import is_large

        # Asked once before, so that a batch that is there is not computed again.
        before = decide(self.read_row(attempt.stream), attempt)
        if not isinstance(before, Apply):
            return before
        write = self._write_in_task if is_large(batch) else self._write_here
        return write(attempt, batch, before_commit)

    def _write_here(self, attempt: Attempt, batch: Any, before_commit: BeforeCommit) -> Decision:
        """Write a batch from the driver, unless it turns out to be too large."""
        from psycopg import OperationalError

        from holdfast.sinks.postgres.collect import TooLargeError, collected
        from holdfast.sinks.postgres.large import budget_of
        from holdfast.sinks.postgres.write import write_batch

        assert self._target is not None
        try:
            with collected(batch, budget=budget_of(batch.sparkSession)) as batches:
                written = write_batch(
                    self._connect(),
                    self._target,
                    attempt,
                    batches=batches,
                    before_commit=before_commit,
                )
        except TooLargeError:
            return self._write_in_task(attempt, batch, before_commit)
        except OperationalError:
            return self._settle(attempt)
        return written.decision

    def _write_in_task(self, attempt: Attempt, batch: Any, before_commit: BeforeCommit) -> Decision:
        """Write a batch that is too large for the driver from one task on an executor."""
        from pyspark.errors import PySparkException

        from holdfast.sinks.postgres.large import ExecutorLacksError, write_in_task

        assert self._target is not None
        if missing := self._executors.missing() if self._executors else []:
            raise ExecutorLacksError(self.shown, missing)
        try:
            return write_in_task(
                batch, self._target, attempt, dsn=self._dsn, before_commit=before_commit
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

        decision = None
        failed: OperationalError | None = None
        for _ in range(TRIES_AFTER_LOST_ANSWER):
            try:
                decision = self._ask_under_lock(attempt)
                break
            except OperationalError as error:
                failed = error
        if decision is None:
            raise LostAnswerError(self.shown, attempt.batch_id, arrived=None) from failed
        if isinstance(decision, Apply):
            raise LostAnswerError(self.shown, attempt.batch_id, arrived=False)
        return decision

    def _ask_under_lock(self, attempt: Attempt) -> Decision:
        """Read the ledger when the session that may still be committing is done with the row."""
        from holdfast.ledger.postgres import read_row

        self.close()
        connection = self._connect()
        with connection.transaction():
            row = read_row(connection, attempt.stream, attempt.sink, lock=True)
        return decide(row, attempt)

    def _connect(self) -> psycopg.Connection[Any]:
        """Return the connection, or a new one when it is gone; what it prepares is not kept."""
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError(
                "Writing to PostgreSQL", module="psycopg", extra="postgres"
            ) from error
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = psycopg.connect(
                reveal(self._dsn), autocommit=True, prepare_threshold=None
            )
        return self._connection
