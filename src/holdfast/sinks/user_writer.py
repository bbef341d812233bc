"""Writes the batches of one start into a user's own sink: rows and ledger in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from holdfast.ledger.decide import Apply, Decision, Refuse, decide
from holdfast.ledger.row import advance
from holdfast.points import reached
from holdfast.sinks.sink import SinkWriter
from holdfast.sinks.table_changed import TableChangedError
from holdfast.sinks.user_ledger import UserLedgerStore

if TYPE_CHECKING:
    from holdfast.ledger.row import Attempt
    from holdfast.sinks.sink import BeforeCommit
    from holdfast.sinks.user_sink import Sink


def resolve_writer(sink: Sink, df: Any, stream: str) -> UserSinkWriter:
    """Connect, and have the sink check a streaming DataFrame."""
    del stream
    writer = UserSinkWriter(sink, df)
    with ExitStack() as undone:
        undone.callback(writer.close)
        if sink.exists():
            sink.check(writer.ledger.connection(), df)
        undone.pop_all()
    return writer


def open_ledger(
    sink: Sink, spark: Any = None, *, options: Mapping[str, str] | None = None
) -> UserLedgerStore:
    """Open the ledger of a sink; no session is needed."""
    del spark, options
    return UserLedgerStore(sink)


class UserSinkWriter(SinkWriter):
    """One start's connection to a user's own sink."""

    def __init__(self, sink: Sink, df: Any) -> None:
        """Connect to nothing yet."""
        self._sink = sink
        self._df = df
        self._ledger = UserLedgerStore(sink)

    @property
    def name(self) -> str:
        """The sink's label."""
        return self._sink.label

    @property
    def shown(self) -> str:
        """The sink as people know it."""
        return self._sink.shown

    @property
    def place(self) -> str:
        """Where its rows are."""
        return self._sink.place

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
        self, attempt: Attempt, batch: Any, *, before_commit: BeforeCommit = lambda _: None
    ) -> Decision:
        """Decide about a batch and write it, with its ledger row, in one transaction.

        When the answer to the commit is lost, the error ends the query. The next start asks the
        ledger; nothing is tried again blindly.

        Raises:
            TableChangedError: The sink does not hold what was written to it.
        """
        with self._ledger.transaction():  # S2
            reached("S2")
            row = self._ledger.row_in(attempt.stream)
            decision = decide(row, attempt)  # S3
            reached("S3")
            changed = None
            if row is not None and not isinstance(decision, Refuse):
                changed = self._ledger.examine(row)
            if changed is not None:
                raise TableChangedError(self.shown, attempt.batch_id, why=changed)
            if row is not None and isinstance(decision, Apply):
                self._sink.write_batch(self._ledger.connection(), batch)  # S4
                reached("S4")
                self._ledger.keep(advance(row, attempt))  # S5
                reached("S5")
                before_commit(0)
        reached("S6")  # committed
        return decision

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        self._ledger.close()
