"""The connection of one start to a database, made again when it is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from holdfast.errors import HoldfastError, MissingExtraError
from holdfast.sinks.database.dialect import Connection, Dialect, dialect_of
from holdfast.sinks.database.failures import DatabaseAwayError, DatabaseRefusedError
from holdfast.sinks.database.url import Address, parse_url
from holdfast.sinks.secrets import reveal, shown_name

if TYPE_CHECKING:
    from holdfast.sinks.secrets import Secret

Answer = TypeVar("Answer")


class Session:
    """One connection, opened when it is needed."""

    def __init__(self, url: Secret, shown: str) -> None:
        """Connect to nothing yet."""
        self._url = url
        self.shown = shown
        """The table as people know it."""
        self._connection: Connection = None

    @cached_property
    def address(self) -> Address:
        """Where the database is.

        Raises:
            DatabaseAwayError: The URL cannot be read.
            ConfigError: There is none where the secret should be.
        """
        found = parse_url(reveal(self._url))
        if isinstance(found, str):
            raise DatabaseAwayError(shown_name(self._url), why=found)
        return found

    @cached_property
    def dialect(self) -> Dialect:
        """What the database is spoken to in."""
        dialect = dialect_of(self.address)
        try:
            __import__(dialect.module)
        except ImportError as error:
            raise MissingExtraError(
                f"Using {dialect.product}", module=dialect.module, extra=dialect.extra
            ) from error
        return dialect

    def connection(self) -> Connection:
        """Return the connection, or a new one if there is none.

        Raises:
            DatabaseAwayError: There is none to be had.
        """
        if self._connection is None:
            opened = self._open()
            if isinstance(opened, DatabaseAwayError):
                raise opened  # here, where no exception is being handled and no local has the URL
            self._connection = opened
        return self._connection

    def _open(self) -> Connection | DatabaseAwayError:
        dialect = self.dialect
        try:
            return dialect.connect(self.address)
        except (HoldfastError, ImportError):
            raise
        except Exception as error:  # noqa: BLE001 - a driver's text holds the user's name
            why, retryable = dialect.why_not_connected(error)
            return DatabaseAwayError(shown_name(self._url), why=why, retryable=retryable)

    def ask(self, question: Callable[[Dialect, Connection], Answer]) -> Answer:
        """Ask something that changes nothing; once more if the connection had died meanwhile."""
        connection = self.connection()
        try:
            return question(self.dialect, connection)
        except self.dialect.errors as error:
            trouble = self.dialect.trouble_of(error)
            if trouble is None or not trouble.is_gone:
                raise
        self.close()
        with self.naming_refusals():
            return question(self.dialect, self.connection())

    @contextmanager
    def naming_refusals(self, batch_id: int | None = None) -> Iterator[None]:
        """Turn what the driver raises into an error with a code, and not with the driver's text."""
        try:
            yield
        except HoldfastError:
            raise
        except self.dialect.errors as error:
            trouble = self.dialect.trouble_of(error)
            if trouble is None:
                raise
            if trouble.is_gone:
                self.close()
                why = f"The connection broke ({trouble.code})."
                raise DatabaseAwayError(shown_name(self._url), why=why, retryable=True) from error
            raise DatabaseRefusedError(self.shown, batch_id, trouble) from error

    @contextmanager
    def closing_on_error(self) -> Iterator[None]:
        """Close the connection if what is done with it fails."""
        with ExitStack() as undone:
            undone.callback(self.close)
            yield
            undone.pop_all()

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.close()
        except self.dialect.errors as error:
            if self.dialect.trouble_of(error) is None:
                raise
