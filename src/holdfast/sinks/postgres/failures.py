"""What can go wrong while PostgreSQL takes a batch: by code, with the server's own reason.

psycopg has one class, OperationalError, for a connection that broke and for a server that said no:
`statement_timeout`, a lock that was waited for too long, a full disk. After a refusal it is certain
that nothing was committed; after a broken connection only the ledger knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError, MissingExtraError

if TYPE_CHECKING:
    import psycopg

_GONE = ("08", "57P")
"""SQLSTATE of sessions that end: connection exceptions, and an administrator's shutdown."""
NO_TABLE = ("42P01", "3F000")
"""SQLSTATE of a table, and of a schema, that does not exist."""
_HOW = {
    # A missing right.
    "42501": "Ask the owner to grant this role its rights, then start the stream again. Those on "
    "the ledger are printed by: holdfast ledger ddl --role ROLE",
}
_REASONS = {
    "57014": "the server cancelled the statement: statement_timeout, or somebody's cancel",
    "55P03": "somebody holds a lock on the table: see pg_locks and pg_stat_activity",
    "40P01": "the server ended a deadlock with another session",
    "25P03": "idle_in_transaction_session_timeout ended the session",
}


class ServerRefusedError(HoldfastError):
    """PostgreSQL refused something, and said why; nothing was committed."""

    code = "SERVER_REFUSED"

    def __init__(self, shown: str, batch_id: int | None, *, sqlstate: str, said: str) -> None:
        self.sqlstate = sqlstate
        reason = _REASONS.get(sqlstate)
        what = f"The stream was not started on {shown}."
        if batch_id is not None:
            what = f"Batch {batch_id} was not written to {shown}."
        super().__init__(
            what=what,
            why=f"PostgreSQL answered {sqlstate}: {said}" + (f" ({reason})." if reason else "."),
            how=_HOW.get(sqlstate, "Remove the cause, then start the stream again."),
        )


class DroppedRowsError(HoldfastError):
    """The table kept fewer rows than it was given; nothing of the batch was committed."""

    code = "ROWS_DROPPED"

    def __init__(self, shown: str, rows: int) -> None:
        super().__init__(
            what=f"A batch was not written to {shown}.",
            why=f"The server dropped {rows:,} of its rows: a BEFORE trigger returns NULL for them.",
            how="Change the trigger, or filter these rows in the query; then start it again.",
        )


def is_gone(connection: psycopg.Connection, error: psycopg.Error) -> bool:
    """Return whether a session ended, so that only the ledger knows what became of its batch."""
    sqlstate = error.sqlstate
    return sqlstate is None or connection.closed or sqlstate.startswith(_GONE)


@contextmanager
def naming_refusals(shown: str) -> Iterator[None]:
    """Turn what the server refuses at a start into an error with a code."""
    try:
        from psycopg import Error
    except ImportError as error:
        raise MissingExtraError("Using PostgreSQL", module="psycopg", extra="postgres") from error
    try:
        yield
    except Error as error:
        if isinstance(error, HoldfastError):
            raise
        raise refusal_of(error, shown) from error


def refusal_of(error: psycopg.Error, shown: str, batch_id: int | None = None) -> ServerRefusedError:
    """Return what the server said, of a batch or of a start."""
    return ServerRefusedError(
        shown,
        batch_id,
        sqlstate=error.sqlstate or "no code",
        said=error.diag.message_primary or type(error).__name__,
    )
