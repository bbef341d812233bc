"""Writes the batches of one start into a user's own sink: rows and ledger in one transaction."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from holdfast.events import emit
from holdfast.events.batches import (
    Committed,
    Decided,
    LedgerAdvanced,
    RowsWritten,
    StepOpened,
    fields_of,
)
from holdfast.ledger.decide import Apply, Decision, Refuse, decide
from holdfast.ledger.row import advance
from holdfast.sinks.sink import SinkWriter
from holdfast.sinks.table_changed import TableChangedError
from holdfast.sinks.user.ledger import UserLedgerStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.sink import BeforeCommit
    from holdfast.sinks.user.sink import Sink


def resolve_writer(sink: Sink, df: DataFrame, stream: str) -> UserSinkWriter:
    """Connect, and have the sink check a streaming DataFrame."""
    del stream
    writer = UserSinkWriter(sink, df)
    with ExitStack() as undone:
        undone.callback(writer.close)
        if sink.exists():
            sink.check(writer.ledger.connection(), df)
        undone.pop_all()
    return writer


class UserSinkWriter(SinkWriter):
    """One start's connection to a user's own sink."""

    _sink: Sink

    def __init__(self, sink: Sink, df: DataFrame) -> None:
        """Connect to nothing yet."""
        super().__init__(sink)
        self._df = df
        self._ledger = UserLedgerStore(sink)

    @property
    def identity(self) -> str:
        """Its kind and its place."""
        return f"{self._sink.kind}:{self._sink.place}"

    @property
    def ledger(self) -> UserLedgerStore:
        """Its ledger, over the same connection."""
        return self._ledger

    def create(self) -> None:
        """Have the sink create what is missing."""
        self._sink.create(self._ledger.connection(), self._df)

    def write(
        self, attempt: Attempt, batch: DataFrame, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch and write it, with its ledger row, in one transaction.

        When the answer to the commit is lost, the error ends the query. The next start asks the
        ledger; nothing is tried again blindly.

        Raises:
            TableChangedError: The sink does not hold what was written to it.
        """
        at = fields_of(attempt)
        with self._ledger.transaction():  # S2
            emit(StepOpened(**at))
            row = self._ledger.row_in(attempt.stream)
            decision = decide(row, attempt)  # S3
            emit(Decided(**at, decision=decision.word))
            changed = None
            if row is not None and not isinstance(decision, Refuse):
                changed = self._ledger.examine(row)
            if changed is not None:
                raise TableChangedError(self.display_name, attempt.batch_id, why=changed)
            if row is not None and isinstance(decision, Apply):
                versions = self._ledger.versions(attempt.stream)
                before = versions.now()
                self._sink.write_batch(self._ledger.connection(), batch)  # S4
                emit(RowsWritten(**at))
                advanced = advance(row, attempt)
                self._ledger.keep(advanced)  # S5
                versions.add(advanced, before=before)
                emit(LedgerAdvanced(**at))
                before_commit(0)
        emit(Committed(**at))  # S6
        return decision

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        self._ledger.close()
