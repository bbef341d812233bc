"""`hf.Sink`: the base class of a sink of your own.

A subclass says how to connect, how to run a transaction, how to write rows and how to keep one
text under a key. Holdfast does the rest: it decides about each batch, fences older drivers and
advances the ledger in the transaction that writes the rows (S1 to S7).
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from holdfast.sinks.sink import SinkSpec

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame


class Sink(SinkSpec, abstract=True):
    """A sink of your own: subclass it as a frozen dataclass, with values only.

    Every method below that is not optional must be there; otherwise the class cannot be defined.
    """

    module: ClassVar[str] = "holdfast.sinks.user_writer"

    @property
    def shown(self) -> str:
        """The sink as people know it. Optional."""
        return f"the {self.kind} sink {self.place}"

    @abstractmethod
    def connect(self) -> Any:
        """Return a new connection."""

    def disconnect(self, connection: Any) -> None:
        """Close a connection. Optional; calls `close` on it."""
        connection.close()

    def exists(self) -> bool:
        """Return whether there is something to connect to. Optional; by default there is.

        While it is False, Holdfast does not connect before `create` was called.
        """
        return True

    @abstractmethod
    def check(self, connection: Any, df: DataFrame) -> None:
        """Raise `hf.ConfigError` when the sink does not take the rows of a DataFrame.

        Must not change anything; the table may not be there yet.
        """

    @abstractmethod
    def create(self, connection: Any, df: DataFrame) -> None:
        """Create what is missing: the table, and a place for ledger rows; both may be there."""

    @abstractmethod
    def transaction(self, connection: Any) -> AbstractContextManager[object]:
        """Return a context that commits at its end, and rolls back when something is raised.

        Two transactions that read the same ledger row must not both commit a change of it: take a
        lock when it begins, or run it serializable.
        """

    @abstractmethod
    def read_ledger(self, connection: Any, key: str) -> str | None:
        """Return the text that is kept under a key; None without one, or before `create`."""

    @abstractmethod
    def write_ledger(self, connection: Any, key: str, text: str) -> None:
        """Keep a text under a key; called inside a transaction."""

    @abstractmethod
    def write_batch(self, connection: Any, batch: DataFrame) -> None:
        """Write the rows of a batch; called inside a transaction, which must not be ended here."""

    def examine(self, connection: Any) -> str | None:
        """Say why the table cannot hold what was written to it. Optional.

        For example: `it is empty`. Called for streams that have written at least one batch.
        """
        del connection
        return None

    @classmethod
    def for_drill(cls, directory: Path) -> Self | None:
        """Return a sink in a scratch directory, for `holdfast drill`. Optional."""
        del directory
        return None

    def read_back(self, connection: Any) -> list[tuple[Any, ...]]:
        """Return the rows that are in the sink, for `holdfast drill`. Optional."""
        raise NotImplementedError(f"{type(self).__name__}.read_back")
