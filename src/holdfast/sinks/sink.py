"""What the guard and the protocol need of a sink; each kind of sink is one class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt, LedgerRow

BeforeCommit = Callable[[int], None]
"""Called last before a commit, with the number of rows; raises when they must not be committed."""


class Sink(Protocol):
    """A place that batches go to."""

    @property
    def name(self) -> str:
        """Its label: in the ledger, in the record."""

    @property
    def shown(self) -> str:
        """As people know it: `the PostgreSQL table public.readings`."""

    @property
    def place(self) -> str:
        """Where its rows are, as people write it."""

    @property
    def identity(self) -> str:
        """Where its rows are, resolved once it is prepared: two sinks with one are one sink."""

    @property
    def is_appending(self) -> bool:
        """Whether it appends: correct only with a single writer."""

    def prepare(self, df: Any, *, stream: str, output_mode: str) -> Self:
        """Return the sink for one start, once it takes the rows of a streaming DataFrame.

        One sink can be given to several streams, and to one stream again and again: what is
        returned holds its own connection and shares nothing that changes.

        Raises:
            HoldfastError: It does not take them; nothing was written.
        """

    def write(self, attempt: Attempt, batch: Any, *, before_commit: BeforeCommit) -> Decision:
        """Decide about a batch, and write it when it is to be applied (S2 to S6)."""

    def close(self) -> None:
        """Let go of what it holds open; it opens again what it needs."""


@runtime_checkable
class LedgerSink(Sink, Protocol):
    """A sink that takes each batch exactly once: it has a ledger, written with the data."""

    @property
    def keys(self) -> Sequence[str]:
        """Columns by which rows are merged; none when they are appended."""

    @property
    def sequence_by(self) -> str | None:
        """The column that says which of two rows with one key is newer."""

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the ledger row of a stream."""

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the sink no longer holds what its row says; None if nothing does."""

    def replace_row(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch (G5).

        False when the old one is not there any more.
        """

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on (G5).

        None if a newer driver, or another checkpoint, owns the row.
        """

    def find_native(self, query_id: str) -> int | None:
        """Return the last batch committed by the sink's native writer; None if unknown."""

    def fence_native(self, query_id: str) -> None:
        """Refuse what a query still brings without Holdfast, where the sink can."""


def as_sinks(into: Sink | Sequence[Sink]) -> tuple[Sink, ...]:
    """Return the sinks that a stream is given: one, or several in their order."""
    return tuple(into) if isinstance(into, Sequence) else (into,)


def ledgers_of(sinks: Iterable[Sink]) -> tuple[LedgerSink, ...]:
    """Return those that take each batch exactly once."""
    return tuple(sink for sink in sinks if isinstance(sink, LedgerSink))
