"""What the guard and the protocol need of a sink; each kind of sink is one class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from holdfast.ledger.decide import Decision
    from holdfast.ledger.row import Attempt, LedgerRow


class Sink(Protocol):
    """A place that takes each batch exactly once."""

    @property
    def name(self) -> str:
        """Its identity in the ledger."""

    @property
    def shown(self) -> str:
        """As people know it: `the PostgreSQL table public.readings`."""

    def prepare(self, schema: Any, *, output_mode: str) -> None:
        """Check, before any batch, that it takes rows of this Spark schema.

        Raises:
            HoldfastError: It does not; nothing was written.
        """

    def read_row(self, stream: str) -> LedgerRow | None:
        """Return the ledger row of a stream."""

    def open_row(self, row: LedgerRow) -> bool:
        """Make the ledger row of a stream; False when there is one."""

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on; None when the row is not its to take (G5)."""

    def close(self) -> None:
        """Let go of what it holds open; it opens again what it needs."""

    def write(self, attempt: Attempt, batch: Any) -> Decision:
        """Decide about a batch, and write it when it is to be applied (S2 to S6)."""
