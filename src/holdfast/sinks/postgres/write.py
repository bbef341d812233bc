"""One batch into PostgreSQL: data and ledger in one transaction (S2 to S6).

Runs on the driver, or in one task on an executor: the standard library, pyarrow and psycopg alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.ledger.decide import Apply, Decision, decide
from holdfast.ledger.postgres import advance_row, read_row
from holdfast.points import reached
from holdfast.sinks.postgres.encode import HEADER, TRAILER, encode_batch
from holdfast.sinks.postgres.fence import session_name
from holdfast.sinks.postgres.merge import STAGING, merge, stage

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import Attempt
    from holdfast.sinks.postgres.table import Target
    from holdfast.sinks.sink import BeforeCommit

LOCK_TIMEOUT_MS = 60_000
IDLE_TIMEOUT_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of a batch."""

    decision: Decision
    rows: int


def write_batch(
    connection: psycopg.Connection[Any],
    target: Target,
    attempt: Attempt,
    *,
    batches: Iterable[Any],
    before_commit: BeforeCommit = lambda _: None,
) -> Written:
    """Decide about a batch and, when it is to be applied, write it; in one transaction.

    Args:
        connection: Not in a transaction; it is committed or rolled back here.
        target: The table.
        attempt: The batch.
        batches: Its record batches; not touched unless it is applied.
        before_commit: Called last, with the number of rows; what it raises rolls everything back.

    Raises:
        UnmergeableRowsError: Rows cannot be merged by their keys.
        psycopg.Error: The server did not take it. When that happens in the commit it may have.
    """
    with connection.transaction():  # S2
        _set_limits(connection, attempt)
        reached("S2")
        row = read_row(connection, attempt.stream, attempt.sink, lock=True)
        decision = decide(row, attempt)  # S3
        reached("S3")
        rows = 0
        if isinstance(decision, Apply):
            rows = _write_rows(connection, target, batches)  # S4
            reached("S4")
            advance_row(connection, attempt, rows=rows, target=target.name)  # S5
            reached("S5")
            before_commit(rows)
    reached("S6")  # committed
    return Written(decision=decision, rows=rows)


def _set_limits(connection: psycopg.Connection[Any], attempt: Attempt) -> None:
    """Set what holds for this transaction alone: behind a proxy the session is shared."""
    connection.execute(
        f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS};"
        f" SET LOCAL idle_in_transaction_session_timeout = {IDLE_TIMEOUT_MS};"
        f" SET LOCAL application_name = '{session_name(attempt.stream, attempt.sink)}'".encode()
    )


def _write_rows(connection: psycopg.Connection[Any], target: Target, batches: Iterable[Any]) -> int:
    if not target.keys:
        return _copy(connection, target, batches, into=target.name)
    stage(connection, target)
    rows = _copy(connection, target, batches, into=STAGING)
    merge(connection, target)
    return rows


def _copy(
    connection: psycopg.Connection[Any],
    target: Target,
    batches: Iterable[Any],
    *,
    into: str,
) -> int:
    from holdfast.sinks.postgres.send import Sender

    rows = 0
    statement = f"COPY {into} ({target.column_list}) FROM STDIN BINARY".encode()
    with (
        connection.cursor() as cursor,
        cursor.copy(statement, writer=Sender(cursor)) as stream,
    ):
        stream.write(HEADER)
        for batch in batches:
            stream.write(encode_batch(batch, target.encoders))
            rows += batch.num_rows
            reached("copying")
        stream.write(TRAILER)
    return rows
