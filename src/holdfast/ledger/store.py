"""The ledger of one sink, opened from what the user wrote and nothing else.

Judgement, plans and a guarded start all read and fence a sink through this, the last one with a
streaming query and the others without.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from holdfast.complete import StrictABC
from holdfast.errors import HoldfastError
from holdfast.ledger.output import CannotSettleError, KeepOutput, Output
from holdfast.ledger.row import LedgerRow


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The ledger of a sink could not be read: whether there is a row is unknown."""

    why: str
    error: HoldfastError | None = field(default=None, compare=False)
    """What was raised, where something was."""

    @classmethod
    def by(cls, error: HoldfastError) -> Unreadable:
        """Return what an error says."""
        return cls(error.why, error)


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened to a sink since a generation of a stream was opened in it."""

    own_rows: int | None = None
    """How many rows the generation has put there; None if the sink cannot count them."""
    others: tuple[str, ...] = ()
    """What other writers have done since, one sentence each."""
    unclear: str = ""
    """Why the rows of the generation cannot be told apart from others; empty if they can."""


class LedgerStore(StrictABC, abstract=True):
    """Reads and fences the ledger of one sink; holds a connection where the sink has one."""

    keeps_versions: ClassVar[bool] = False
    """Whether the sink has older versions of its rows, so that none need be copied."""
    tells_own_rows: ClassVar[bool] = True
    """Whether it can tell the rows of a stream from those of other writers. A sink that Holdfast
    does not write into cannot: an undo puts the whole table back."""

    @abstractmethod
    def label(self, stream: str) -> str:
        """Return the name under which the ledger keeps a stream's row in this sink."""

    @abstractmethod
    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the row of a stream; None when it has none. Nothing is written."""

    @abstractmethod
    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the sink no longer holds what its row says; None if nothing does."""

    @abstractmethod
    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let only this epoch write from now on (G5).

        None if a newer driver, or another checkpoint, owns the row.
        """

    def hold(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Let nobody write but a plan, which replaces the row next.

        None if a newer driver, or another checkpoint, owns the row.
        """
        return self.fence(row, epoch=epoch, nonce=nonce)

    @abstractmethod
    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Put a row in the place of another, or of none, and so fence the sink with its epoch (G5).

        False when the old one is not there any more.
        """

    def correct(self, old: LedgerRow, new: LedgerRow) -> bool:
        """Set where the last batch ended, in a row of this driver's own; nothing else changes.

        False when the row is another by now, or this kind of sink is written only where the range
        of a batch is told beforehand.

        Args:
            old: The row that must be there.
            new: The same with another digest and other `end_offsets`.
        """
        del old, new
        return False

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Bring the rows to a named state and put a row in the place of another, in one step.

        The new row carries the epoch of the plan's own lease, so settling is the fence. False if
        the old row is not there any more; then nothing was changed.

        Args:
            old: The row that must be there; None: none is.
            new: The row that takes its place.
            output: What becomes of the rows.
            seen: What `table_version` said when the plan was made; None: it is not compared.

        Raises:
            CannotSettleError: This kind of sink cannot do that, or its rows have changed since.
        """
        del seen
        obstacle = self.find_obstacle(new, output)
        if obstacle is not None:
            raise CannotSettleError(self.label(new.stream), obstacle)
        return self.replace(old, new)

    def since(self, stream: str, *, generation: int) -> Since:
        """Say what has happened to the sink since a generation was opened in it.

        Args:
            stream: Whose generation.
            generation: Its number.
        """
        del stream, generation
        return Since(unclear="this kind of sink does not know which rows are whose")

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say why `settle` would fail, as far as that shows without a change; None if nothing does.

        Args:
            new: The row that would be set.
            output: What would become of the rows.
        """
        if isinstance(output, KeepOutput) or type(self).settle is not LedgerStore.settle:
            return None
        return f"{self.label(new.stream)} cannot take rows away and put them back."

    def table_version(self, stream: str) -> str | None:
        """Return what tells the table's content apart; None when the sink has nothing that does."""
        del stream
        return None

    def has_changed(self, stream: str, seen: str | None) -> bool:
        """Return whether the table has other content than when it was looked at.

        Args:
            stream: Whose table.
            seen: What `table_version` said then; None: it told nothing.
        """
        return seen is not None and self.table_version(stream) != seen

    def count_rows(self) -> int | None:
        """Return how many rows the sink holds; None when that is not known without a scan."""
        return None

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams that have written into the same table, as far as is known."""
        del stream
        return ()

    def batch_versions(self, stream: str) -> Mapping[int, str]:
        """Return the version of the table after each batch of the stream, as far as it is known."""
        del stream
        return {}

    def version_before(self, stream: str, *, generation: int, batch: int) -> str | None:
        """Return the version of the table before it got to a row; None when that is not known.

        Args:
            stream: Whose row.
            generation: That the row is of.
            batch: The last one that the row holds.
        """
        del stream, generation, batch
        return None

    def row_version(self, stream: str) -> int | None:
        """Return the version of the table that came with a stream's row; None if not known."""
        del stream
        return None

    def last_epoch(self, stream: str) -> int:
        """Return the highest epoch that has written, as far as is known without a row; else 0."""
        del stream
        return 0

    def find_native(self, query_id: str) -> int | None:
        """Return the last batch committed by the sink's native writer; None if unknown."""
        del query_id
        return None

    def fence_native(self, query_id: str) -> None:
        """Refuse what a query still writes without Holdfast, where the sink can."""
        del query_id

    @abstractmethod
    def close(self) -> None:
        """Close what is open; the next use opens it again."""
