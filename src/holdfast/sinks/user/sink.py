"""`hf.Sink`: the base class of a sink of your own.

A subclass says how to connect, how to run a transaction, how to write rows and how to keep one
text under a key. Holdfast does the rest: it decides about each batch, fences older drivers and
advances the ledger in the transaction that writes the rows (S1 to S7).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, Self

from holdfast.sinks.choosing import Choosing
from holdfast.sinks.sink import Capability, SinkSpec

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

_GIVEN_BY = {
    Capability.SETTLE: ("take_rows", "put_back"),
    Capability.VERSIONS: ("take_rows", "put_back", "version"),
    Capability.CONTENTS: ("read_back",),
}
"""The methods that a subclass has, each by the capability that they give."""


class Sink(SinkSpec, abstract=True):
    """A sink of your own: subclass it as a frozen dataclass, with values only.

    Every method below that is not optional must be there; otherwise the class cannot be defined.
    The last five are optional, and decide which plans exist for the sink.
    """

    package: ClassVar[str] = "holdfast.sinks.user"
    choosing: ClassVar[Choosing | None] = Choosing(
        guarantee="exactly once, if your store's transactions are; older drivers are fenced by "
        "the text that your sink keeps",
        reader_sees="what your transaction shows",
        rights="those of your sink",
        runs_on="Spark 3.5 to 4.3",
        speed="that of your writing",
        page="your-own-sink.md",
    )

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Find out what the class can do, and register it.

        Raises:
            TypeError: It lacks something: rows could be taken away and not be put back.
        """
        optional = {name for names in _GIVEN_BY.values() for name in names}
        own = {name for name in optional if getattr(cls, name) is not getattr(Sink, name)}
        half = {"take_rows", "put_back"} - own
        if len(half) == 1:
            raise TypeError(f"{cls.__name__} lacks {half.pop()}: rows are taken away to come back.")
        cls.capabilities = frozenset(
            each for each, names in _GIVEN_BY.items() if own.issuperset(names)
        )
        super().__init_subclass__(abstract=abstract, **options)

    @property
    def display_name(self) -> str:
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

        A commit that fails rolls back too: a transaction that stays open would show its own rows.
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

    def take_rows(self, connection: Any, copy: str, *, after: str | None) -> None:
        """Move rows out of the table into a copy. Optional; with `put_back`, it gives `settle`.

        Called inside a transaction. The copy must be there afterwards, even without a row.

        Args:
            connection: A connection.
            copy: Its name: `holdfast.kept_` and letters, digits and underscores. It is new.
            after: Only rows that came after this version of the table, which `version` has named;
                None: all rows.
        """
        raise NotImplementedError(f"{type(self).__name__}.take_rows")

    def put_back(self, connection: Any, copy: str) -> None:
        """Add the rows of a copy to the table; the copy stays. Optional; see `take_rows`."""
        raise NotImplementedError(f"{type(self).__name__}.put_back")

    def version(self, connection: Any) -> str:
        """Name what the table holds now. Optional; with `take_rows`, it gives `versions`.

        Two states of the table that hold different rows must have different names. Called before
        and after each batch, inside its transaction.
        """
        raise NotImplementedError(f"{type(self).__name__}.version")

    def read_back(self, connection: Any) -> Iterable[tuple[Any, ...]]:
        """Return the rows that are in the sink. Optional; it gives `contents`.

        The columns have the stream's order and types: a timestamp is a `datetime`, for example.
        """
        raise NotImplementedError(f"{type(self).__name__}.read_back")

    @classmethod
    def for_drill(cls, directory: Path) -> Self | None:
        """Return a sink in a scratch directory, for `holdfast drill`. Optional."""
        del directory
        return None
