"""Fencing in PostgreSQL (G5): from now on no older driver of the stream commits anything.

The epoch in the ledger row is the fence; taking it needs the row's lock. A driver that was stopped
inside its transaction still holds that lock, and PostgreSQL does not time it out while it waits for
the client: so whoever blocks the fence is ended, and the fence is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.events import emit
from holdfast.events.starts import SinkFenced, SinkRowEvent

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import Attempt, LedgerRow

LOCK_TIMEOUT_MS = 2_000
IDLE_TIMEOUT_MS = 20_000
"""A plan that is paused within its transaction locks the table: shorter than its lease lasts."""
TRIES = 15
QUEUED = "queued"
"""What a session is at that waits for the ledger row."""


Changed = TypeVar("Changed")


def take(
    connection: psycopg.Connection,
    row: LedgerRow | Attempt,
    change: Callable[[], Changed],
    *,
    done: type[SinkRowEvent] = SinkFenced,
) -> Changed:
    """Change a ledger row, or read it under its lock, against whoever holds it.

    Args:
        connection: Not in a transaction.
        row: The row, or a batch that has the same stream and sink.
        change: Run inside a transaction, again when the row was locked.
        done: What has happened when it has been run.

    Raises:
        psycopg.Error: The server did not answer, or somebody kept the row locked whom we may not
            end.
    """
    from psycopg import errors

    # By its name whoever comes next can end this session, should it stand still in here.
    settings = f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS};"
    settings += f" SET LOCAL idle_in_transaction_session_timeout = {IDLE_TIMEOUT_MS};"
    settings += f" SET LOCAL application_name = '{session_name(row.stream, row.sink)}'"
    attempt = 0
    while True:
        attempt += 1
        try:
            with connection.transaction():
                connection.execute(settings.encode())
                changed = change()
                emit(done(stream=row.stream, sink=row.sink))
                return changed
        except errors.LockNotAvailable:
            if attempt == TRIES:
                raise
            terminate_blocking_sessions(connection, row)


def terminate_blocking_sessions(connection: psycopg.Connection, row: LedgerRow | Attempt) -> None:
    """End the sessions of this stream and sink that hold locks in the ledger."""
    connection.execute(
        "SELECT pg_terminate_backend(l.pid) FROM pg_locks l"
        " JOIN pg_stat_activity a ON a.pid = l.pid"
        " WHERE l.relation = 'holdfast.ledger'::regclass"
        " AND l.granted AND l.pid <> pg_backend_pid() AND a.application_name = %s",
        (session_name(row.stream, row.sink),),
    )


def look_at_blockers(
    connection: psycopg.Connection, row: LedgerRow | Attempt
) -> dict[int, tuple[Any, ...]]:
    """Return what the sessions of this stream and sink that hold locks in the ledger are doing.

    Equal at two times, and waiting for its client: that one stands still. Whoever waits for the
    row itself has a lock on it in the queue (`tuple`), and is at `QUEUED`.
    """
    found = connection.execute(
        "SELECT DISTINCT a.pid, CASE WHEN EXISTS (SELECT FROM pg_locks q WHERE q.pid = a.pid"
        " AND q.locktype = 'tuple' AND q.relation = l.relation) THEN %s"
        " ELSE a.wait_event END, a.query_start, c.bytes_processed"
        " FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
        " LEFT JOIN pg_stat_progress_copy c ON c.pid = a.pid"
        " WHERE l.relation = 'holdfast.ledger'::regclass"
        " AND l.granted AND l.pid <> pg_backend_pid() AND a.application_name = %s",
        (QUEUED, session_name(row.stream, row.sink)),
    ).fetchall()
    return {pid: tuple(doing) for pid, *doing in found}


def terminate_sessions(
    connection: psycopg.Connection, row: LedgerRow | Attempt, pids: Iterable[int]
) -> None:
    """End some sessions of this stream and sink."""
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE pid = ANY(%s) AND application_name = %s",
        (list(pids), session_name(row.stream, row.sink)),
    )


def session_name(stream: str, sink: str) -> str:
    """Return the name of a stream's sessions: short, because PostgreSQL cuts it at 63 bytes."""
    return f"holdfast-{sha256(f'{stream}/{sink}'.encode()).hexdigest()[:32]}"
