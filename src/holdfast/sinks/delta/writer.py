"""Writes the batches of one start into a Delta table: rows and ledger in one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.events import emit
from holdfast.events.batches import Committed, Decided, StepOpened, fields_of
from holdfast.events.event import Informed
from holdfast.ledger.decide import Apply, Decision, Refuse, decide
from holdfast.ledger.row import advance
from holdfast.sinks.delta.columns import DeltaTableError
from holdfast.sinks.delta.commit import Identity, append, merge
from holdfast.sinks.delta.failures import CONFLICT, CommitSkippedError, failure_of
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.delta.log_ledger import (
    FIRST_BATCH_SLOT,
    LedgerState,
    app_id,
    transaction_version,
)
from holdfast.sinks.delta.log_store import warn_of_log_store
from holdfast.sinks.delta.sink import CATALOG
from holdfast.sinks.delta.table import find_elsewhere, find_moved, find_target, make_table
from holdfast.sinks.sink import SinkWriter
from holdfast.sinks.table_changed import TableChangedError
from holdfast.spark.errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.delta.sink import Delta
    from holdfast.sinks.delta.target import Target
    from holdfast.sinks.sink import BeforeCommit

TRIES = 3
"""Against other writers of the table: somebody optimises it, or appends to it."""


def resolve_writer(sink: Delta, df: DataFrame, stream: str) -> DeltaWriter:
    """Find the table, check that it takes a streaming DataFrame, and find its label in the log.

    Raises:
        DeltaTableError: It does not take the rows, or settings would break the ledger.
        ConfigError: A key is no column of the stream.
    """
    target = find_target(df, sink)
    writer = DeltaWriter(sink, target, df=df, stream=stream)
    writer.ledger.standing(stream)
    if writer.name != sink.label:
        emit(Informed(f"{sink.display_name} has the ledger row {writer.name} of {stream}"))
    return writer


class DeltaWriter(SinkWriter):
    """One start's commits to one table."""

    _sink: Delta

    def __init__(self, sink: Delta, target: Target, *, df: DataFrame, stream: str) -> None:
        """Write nothing yet."""
        super().__init__(sink)
        self._df = df
        self._stream = stream
        self._ledger = DeltaLedgerStore(sink, target, df.sparkSession)

    @property
    def name(self) -> str:
        """The label that the log has for the stream."""
        return self._ledger.label(self._stream)

    @property
    def place(self) -> str:
        """The table's path; of a table in a catalog that is not there yet, its name."""
        target = self._ledger.target
        return self._sink.path or (
            self._sink.place if target.is_missing else str(target.reader.location)
        )

    @property
    def recorded_place(self) -> str:
        """The table's location; of a catalog's table that is not there yet, its name."""
        target = self._ledger.target
        is_unknown = target.is_missing and self._sink.path is None
        return f"{CATALOG}{self._sink.table}" if is_unknown else str(target.reader.location)

    @property
    def identity(self) -> str:
        """The table's location, the same however it is named."""
        return self._ledger.target.identity

    @property
    def ledger(self) -> DeltaLedgerStore:
        """Its ledger."""
        return self._ledger

    def warnings(self) -> tuple[str, ...]:
        """Name what two writers of one table can do to each other on S3."""
        location = self._ledger.target.reader.location
        return warn_of_log_store(self._df.sparkSession, location, self.display_name)

    def look_again(self) -> None:
        """Find a table that another driver has created since."""
        if self._ledger.target.is_missing:
            self._ledger.close()
            self._ledger.target = find_target(self._df, self._sink)
            self._ledger.standing(self._stream)

    def create(self) -> None:
        """Create the table when it is not there, with the columns of the stream."""
        if self._ledger.target.is_missing:
            make_table(self._df, self._sink)
            try:
                self.look_again()
            except DeltaTableError as error:
                raise DeltaTableError(
                    error.display_name, why=error.why, how=error.how, is_created=True
                ) from error

    def close(self) -> None:
        """Forget what was read."""
        self._ledger.close()

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch, and commit it when it is to be applied."""
        at = fields_of(attempt)
        emit(StepOpened(**at))
        standing, decision = self._judge(attempt)  # S3
        emit(Decided(**at, decision=decision.word))
        row = None if standing is None else standing.row
        if standing is None or row is None or not isinstance(decision, Apply):
            return decision
        slot = FIRST_BATCH_SLOT + attempt.batch_id
        identity = Identity(
            app=app_id(attempt.stream, attempt.sink),
            version=transaction_version(attempt.generation, attempt.epoch, slot),
            note=self._ledger.note(advance(row, attempt), standing),
        )
        before_commit(0)
        self._commit(batch, attempt, identity)  # S4 to S6
        emit(Committed(**at))
        return self._settle(attempt, identity, batch)

    def _judge(self, attempt: Attempt) -> tuple[LedgerState | None, Decision]:
        """Decide about a batch, and see that the table is as the stream has left it.

        Raises:
            TableChangedError: It is not.
        """
        standing = self._ledger.standing(attempt.stream)
        return standing, self._decide(attempt, standing)

    def _decide(
        self, attempt: Attempt, standing: LedgerState | None, *, is_committed: bool = False
    ) -> Decision:
        decision = decide(None if standing is None else standing.row, attempt)
        if not isinstance(decision, Refuse):
            changed = self._ledger.find_change(attempt.stream, standing)
        else:  # the reason can be that this is another table
            changed = self._ledger.find_other(standing)
        self._check(attempt, changed, is_committed=is_committed)
        return decision

    def _check(self, attempt: Attempt, changed: str | None, *, is_committed: bool = False) -> None:
        if changed is not None:
            name, batch = self.display_name, attempt.batch_id
            raise TableChangedError(name, batch, why=changed, is_committed=is_committed)

    def _settle(self, attempt: Attempt, identity: Identity, batch: DataFrame) -> Decision:
        """Say what became of a commit, from the log: Delta does not tell that it left one out."""
        standing = self._ledger.standing(attempt.stream)
        if standing is not None and standing.ends_with(identity):
            other = self._ledger.find_other(standing)
            self._check(attempt, other, is_committed=True)
            return Apply()
        decision = self._decide(attempt, standing, is_committed=True)
        if isinstance(decision, Apply):
            elsewhere = find_elsewhere(batch, self._ledger.target)
            self._check(attempt, elsewhere, is_committed=True)
            raise CommitSkippedError(self.display_name, attempt.batch_id)
        return decision

    def _commit(self, batch: DataFrame, attempt: Attempt, identity: Identity) -> None:
        """Commit a batch; an error counts only when it is not there and nobody else was faster."""
        commit = merge if self._sink.keys else append
        for tries_left in reversed(range(TRIES)):
            self._check(attempt, find_moved(batch, self._ledger.target))
            try:
                commit(batch, self._ledger.target, identity)
            except spark_errors() as error:
                # Its own commit decides too: a batch that is there is skipped.
                _, decision = self._judge(attempt)
                if not isinstance(decision, Apply):
                    return  # what has become of it is in the log
                if not tries_left or CONFLICT not in str(error):
                    raise failure_of(error, self.display_name, attempt.batch_id) or error from error
            else:
                return
