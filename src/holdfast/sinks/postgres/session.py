"""The connection of one start, made again when it is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

from holdfast.errors import MissingExtraError
from holdfast.sinks.postgres.failures import is_gone
from holdfast.sinks.secrets import shown_name

if TYPE_CHECKING:
    import psycopg

    from holdfast.sinks.secrets import Secret

Answer = TypeVar("Answer")


class Session:
    """One connection, opened when it is needed."""

    def __init__(self, dsn: Secret) -> None:
        """Connect to nothing yet."""
        self._dsn = dsn
        self._connection: psycopg.Connection | None = None

    def connection(self) -> psycopg.Connection:
        """Return the connection, or a new one if it is gone.

        Raises:
            ConnectError: There is none to be had.
        """
        try:
            from holdfast.sinks.postgres.connect import connect
        except ImportError as error:
            raise MissingExtraError(
                "Writing to PostgreSQL", module="psycopg", extra="postgres"
            ) from error
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = connect(self._dsn)
        return self._connection

    def ask(self, question: Callable[[psycopg.Connection], Answer]) -> Answer:
        """Ask something that changes nothing; once more if the connection had died meanwhile."""
        connection = self.connection()  # says which extra is missing, before the imports below

        from psycopg import OperationalError

        from holdfast.sinks.postgres.connect import CLOSED, ConnectError

        try:
            return question(connection)
        except OperationalError as error:
            if not is_gone(connection, error):
                raise
            self.close()
        connection = self.connection()
        try:
            return question(connection)
        except OperationalError as error:
            if not is_gone(connection, error):
                raise
        raise ConnectError(shown_name(self._dsn), CLOSED)

    @contextmanager
    def closing_on_error(self) -> Iterator[psycopg.Connection]:
        """Give the connection; close it if what is done with it fails."""
        with ExitStack() as undone:
            undone.callback(self.close)
            yield self.connection()
            undone.pop_all()

    def close(self) -> None:
        """Close the connection; the next use makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
