"""Fencing in PostgreSQL (G5): from now on no older driver of the stream commits anything.

The epoch in the ledger row is the fence; taking it needs the row's lock. A driver that was stopped
inside its transaction still holds that lock, and PostgreSQL does not time it out while it waits for
the client: so whoever blocks the fence is ended, and the fence is tried again.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from holdfast.ledger import postgres as ledger

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import LedgerRow

LOCK_TIMEOUT_MS = 2_000
TRIES = 15


def fence(
    connection: psycopg.Connection[Any], row: LedgerRow, *, epoch: int, nonce: str
) -> LedgerRow | None:
    """Take the row for an epoch; None when it is not ours to take.

    Raises:
        psycopg.Error: The server did not answer, or somebody kept the row locked whom we may not
            end.
    """
    from psycopg import errors

    for attempt in range(TRIES):
        try:
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())
                return ledger.fence(connection, row, epoch=epoch, nonce=nonce)
        except errors.LockNotAvailable:
            if attempt == TRIES - 1:
                raise
            _end_blockers(connection, row)
    return None


def _end_blockers(connection: psycopg.Connection[Any], row: LedgerRow) -> None:
    """End the sessions of this stream and sink that hold locks in the ledger."""
    connection.execute(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l"
        " JOIN pg_stat_activity a ON a.pid = l.pid"
        " WHERE l.relation = 'holdfast.ledger'::regclass"
        " AND l.granted AND l.pid <> pg_backend_pid() AND a.application_name = %s",
        (session_name(row.stream, row.sink),),
    )


def session_name(stream: str, sink: str) -> str:
    """Return the name of a stream's sessions: short, because PostgreSQL cuts it at 63 bytes."""
    return f"holdfast-{sha256(f'{stream}/{sink}'.encode()).hexdigest()[:32]}"
