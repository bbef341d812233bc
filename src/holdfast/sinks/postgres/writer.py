"""Writes the batches of one start into a PostgreSQL table."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from holdfast.events import emit
from holdfast.events.event import Informed
from holdfast.events.starts import SinkAsked
from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.sinks.failures import LostAnswerError
from holdfast.sinks.postgres.failures import is_gone, naming_refusals, refusal_of
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.retry import RetryBudget
from holdfast.sinks.sink import SinkWriter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.postgres.large import ExecutorCheck
    from holdfast.sinks.postgres.sink import Postgres
    from holdfast.sinks.postgres.target import Target
    from holdfast.sinks.postgres.write import RowsInParts
    from holdfast.sinks.sink import BeforeCommit


def resolve_writer(sink: Postgres, df: DataFrame, stream: str) -> PostgresWriter:
    """Connect, check the table against a streaming DataFrame, and find the ledger's row for it.

    Raises:
        HoldfastError: The table does not take the rows, or the database cannot be used.
    """
    from holdfast.sinks.arrow_columns import find_schema

    found = find_target(sink, find_schema(df, sink.table), stream)
    return PostgresWriter(sink, found=found, spark=df.sparkSession, stream=stream)


def find_target(sink: Postgres, schema: pa.Schema, stream: str) -> Found:
    """Connect, check the table against the schema of a stream, and find the ledger's row for it.

    Raises:
        HoldfastError: The table does not take the rows, or the database cannot be used.
    """
    from holdfast.sinks.postgres.ledger_rows import find_identity
    from holdfast.sinks.postgres.ledger_tables import check_tables
    from holdfast.sinks.postgres.table import check_attached, check_table

    ledger = PostgresLedgerStore(sink)
    with naming_refusals(sink.display_name), ledger.session.closing_on_error() as connection:
        has_tables = check_tables(connection)
        if sink.parallel is not None:
            target = check_attached(connection, sink.table, schema)
        else:
            target = check_table(
                connection, sink.table, schema, keys=sink.keys, sequence_by=sink.sequence_by
            )
        identity = find_identity(connection, target.oid)
        ledger.table = target
        label = ledger.find_label(stream) if has_tables else sink.label
    if label != sink.label:
        emit(Informed(f"{ledger.display_name} has the ledger row {label} of {stream}"))
    return Found(ledger=ledger, target=target, identity=identity)


class Found(NamedTuple):
    """What a start has found of its table, over one connection."""

    ledger: PostgresLedgerStore
    target: Target
    identity: str


class PostgresWriter(SinkWriter):
    """One start's connection to one table."""

    _sink: Postgres

    def __init__(
        self, sink: Postgres, *, found: Found, spark: SparkSession | None, stream: str
    ) -> None:
        """Write nothing yet."""
        super().__init__(sink)
        self._ledger = found.ledger
        self.target = found.target
        self._identity = found.identity
        self._spark = spark
        self._stream = stream
        self._executors: ExecutorCheck | None = None

    @property
    def name(self) -> str:
        """The label that the ledger has for the table."""
        return self._ledger.label(self._stream)

    @property
    def display_name(self) -> str:
        """The table with its schema."""
        return self._ledger.display_name

    @property
    def identity(self) -> str:
        """Server, database and table, the same however they are named."""
        return self._identity

    @property
    def ledger(self) -> PostgresLedgerStore:
        """Its ledger, over the same connection."""
        return self._ledger

    def create(self) -> None:
        """Create or upgrade the ledger's tables; the table itself is its owner's to create."""
        from holdfast.sinks.postgres.large import ExecutorCheck
        from holdfast.sinks.postgres.ledger_tables import ensure_tables

        with naming_refusals(self.display_name):
            ensure_tables(self._ledger.session.connection())
        if self._spark is not None:
            self._executors = ExecutorCheck(self._spark, self._sink.dsn)

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        if self._executors is not None:
            self._executors.wait()
        self._ledger.close()

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and write it when it is to be applied.

        While the server is away it is tried again, for a bounded time. Every try asks the ledger
        first, so a batch whose answer was lost is not written twice.
        """
        from psycopg import Error

        from holdfast.sinks.postgres.connect import ConnectError

        patience = RetryBudget(self.display_name, attempt.batch_id)
        while True:
            try:
                return self._write_once(attempt, batch, before_commit)
            except (ConnectError, LostAnswerError) as error:
                before_commit(0)  # nobody waits for a query that is being stopped
                if not patience.wait(error):
                    raise
            except Error as error:
                raise refusal_of(error, self.display_name, attempt.batch_id) from error

    def _write_once(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        # Asked once before, so that a batch that is there is not computed again.
        before = decide(self._ledger.read_row(attempt.stream), attempt)
        if not isinstance(before, Apply):
            return before
        return self._write_new(attempt, batch, before_commit)

    def _write_new(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        """Write a batch that the ledger did not have just now."""
        from holdfast.sinks.postgres.large import is_large

        write = self._write_in_task if is_large(batch) else self._write_here
        return write(attempt, batch, before_commit)

    def _write_here(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        """Write a batch from the driver, unless it turns out to be too large."""
        from holdfast.sinks.collect import TooLargeError, budget_of, collected

        rows = collected(batch, budget=budget_of(batch.sparkSession))
        try:
            return self._commit(attempt, rows, before_commit)
        except TooLargeError:
            return self._write_in_task(attempt, batch, before_commit)

    def _commit(
        self,
        attempt: Attempt,
        rows: AbstractContextManager[Iterable[pa.RecordBatch] | RowsInParts],
        before_commit: BeforeCommit,
    ) -> Decision:
        """Write rows and the ledger row in one transaction; settle it when the answer is lost."""
        from psycopg import Error

        from holdfast.sinks.postgres.write import write_batch

        connection = self._ledger.session.connection()
        try:
            with rows as batches:
                return write_batch(
                    connection,
                    self.target,
                    attempt,
                    batches=batches,
                    before_commit=before_commit,
                ).decision
        except Error as error:
            if is_gone(connection, error):
                return self._settle(attempt)
            raise refusal_of(error, self.display_name, attempt.batch_id) from error

    def _write_in_task(
        self, attempt: Attempt, batch: DataFrame, before_commit: BeforeCommit
    ) -> Decision:
        """Write a batch that is too large for the driver from one task on an executor."""
        from pyspark.errors import PySparkException

        from holdfast.sinks.postgres.large import ExecutorLacksError, write_in_task

        if missing := self._executors.missing() if self._executors else []:
            raise ExecutorLacksError(self.display_name, missing)
        try:
            return write_in_task(
                batch, self.target, attempt, dsn=self._sink.dsn, before_commit=before_commit
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
            raise LostAnswerError(self.display_name, attempt.batch_id, arrived=None) from error
        if isinstance(decision, Apply):
            raise LostAnswerError(self.display_name, attempt.batch_id, arrived=False)
        return decision

    def _ask_under_lock(self, attempt: Attempt) -> Decision:
        """Read the ledger when the session that may still be committing is done with the row."""
        from holdfast.sinks.postgres.fence import take
        from holdfast.sinks.postgres.ledger_rows import read_row

        self.close()
        connection, of = self._ledger.session.connection(), (attempt.stream, attempt.sink)
        read = partial(read_row, connection, *of, lock=True)
        row = take(connection, attempt, read, done=SinkAsked)
        return decide(row, attempt)
