"""What the dialects share that were written from documentation and have met no server.

They bind values by the driver, with a named type each, so that no text of a number or of a time is
read by the server. They lock a table for the length of a batch: others who write to it wait.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from holdfast.sinks.database.bound_values import version_of
from holdfast.sinks.database.dialect import Connection, Dialect
from holdfast.sinks.database.failures import Trouble

if TYPE_CHECKING:
    from holdfast.sinks.database.target import Column, Row, Target

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10, 300
HOLD_S = 2
"""How long a fence waits for a session before it ends it."""
WAIT_S = 60
TRIES = 15
ROWS_AT_ONCE = 10_000
_HELD = Trouble(
    code="LOCK_HELD",
    is_busy=True,
    how="Another session of this stream is within its batch: wait for it, or end it, then start "
    "the stream again.",
)


class LockHeldError(Exception):
    """Another session holds the lock of a stream, and was not ended."""


class UnrunDialect(Dialect, abstract=True):
    """A dialect that says at every start that it was never run."""

    never_run: ClassVar[bool] = True
    creates: ClassVar[str] = "CREATE TABLE"
    locks_copied: ClassVar[str] = ""
    adds: ClassVar[str] = "ALTER TABLE {table} ADD {column} {kind};"
    staged: ClassVar[Sequence[str]]
    """Makes a temporary table, empty: `table` is its name, `columns` are its columns."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises, what its socket does, and a lock that others hold."""
        return self.driver_error, OSError, EOFError, LockHeldError

    @property
    @abstractmethod
    def driver_error(self) -> type[Exception]:
        """The base class of the driver's errors."""

    def trouble_of(self, error: Exception) -> Trouble | None:
        """Return what an error means; a connection that broke has no number."""
        if isinstance(error, LockHeldError):
            return _HELD
        if isinstance(error, OSError | EOFError):
            return Trouble(code=type(error).__name__, is_gone=True)
        return self.trouble_of_driver(error) if isinstance(error, self.driver_error) else None

    @abstractmethod
    def trouble_of_driver(self, error: Exception) -> Trouble | None:
        """Return what an error of the driver means; None if it has not understood us."""

    def warnings(self, connection: Connection) -> tuple[str, ...]:
        """Say at every start that nobody has run this."""
        del connection
        return (
            f"hf.Database on {self.product} was written from its documentation and has never been "
            "run: try it on a copy first",
        )

    @contextmanager
    def held(self, connection: Connection, name: str, *, ends_others: bool) -> Iterator[None]:
        """Hold a lock of the stream's name, which ends with the session.

        A driver that is paused inside its transaction keeps it, so its successor ends the session
        that holds it.
        """
        self._hold(connection, name, ends_others=ends_others)
        try:
            yield
        finally:
            self._let_go(connection, name)

    def _hold(self, connection: Connection, name: str, *, ends_others: bool) -> None:
        for _ in range(TRIES if ends_others else 1):
            if self.take_lock(connection, name, wait_s=HOLD_S if ends_others else WAIT_S):
                return
            if ends_others:
                self.end_holder(connection, name)
        raise LockHeldError

    def _let_go(self, connection: Connection, name: str) -> None:
        try:
            self.release_lock(connection, name)
        except self.errors as error:
            if self.trouble_of(error) is None:
                raise
            connection.close()  # with the session its locks end

    @abstractmethod
    def take_lock(self, connection: Connection, name: str, *, wait_s: int) -> bool:
        """Take the lock of a name; return whether it was to be had in time."""

    @abstractmethod
    def release_lock(self, connection: Connection, name: str) -> None:
        """Give the lock of a name back."""

    @abstractmethod
    def end_holder(self, connection: Connection, name: str) -> None:
        """End the session that holds the lock of a name; nothing if none does by now."""

    def stage(self, target: Target) -> Sequence[str]:
        """Make them before the transaction, of the types and collations that the table has."""
        columns = ", ".join(f"{self.quote(each.name)} {each.shown}" for each in target.shape)
        return [
            statement.format(table=table, columns=columns)
            for table in (self.batch, self.newest)
            for statement in self.staged
        ]

    def inserted(self, target: Target, into: str) -> tuple[str, str]:
        """Return how an INSERT begins, and a row of it: only the row has marks of values."""
        columns = ", ".join(map(self.quote, target.columns))
        row = f"({', '.join(each.placed for each in target.fields)})"
        return f"INSERT INTO {into} ({columns}) VALUES ", row  # noqa: S608 - quoted

    def version(self, connection: Connection, name: str) -> str:
        """Read all rows: the server's own checksums are the same for some rows that differ."""
        return version_of(self.rows(connection, f"SELECT * FROM {name}"))  # noqa: S608 - quoted

    def selected(self, column: Column) -> str:
        """Read it as it is."""
        return self.quote(column.name)

    def rows(self, connection: Connection, statement: str) -> Iterator[list[Row]]:
        """Read them as the server sends them."""
        cursor = connection.cursor()
        try:
            cursor.execute(statement)
            while found := cursor.fetchmany(ROWS_AT_ONCE):
                yield [tuple(each) for each in found]
        finally:
            cursor.close()
