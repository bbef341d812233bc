"""The ledger in PostgreSQL: two small tables, written in the transaction that writes the data.

    holdfast.ledger     one row per (stream, sink): what has arrived, and who may write
    holdfast.history    one row per batch, for people and proofs; nothing is decided by it

Nothing here depends on a session: everything holds inside one transaction, so it works behind a
proxy that pools transactions. Tables are made by whoever may, or by a DBA from `ddl()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.row import Attempt, Binding, LedgerRow

if TYPE_CHECKING:
    import psycopg

VERSION = 1
_COLUMNS = (
    "stream, sink, generation, epoch, nonce, query_id, checkpoint, last_batch, digest, end_offsets"
)

TARGET = "(SELECT oid || '/' || relfilenode FROM pg_class WHERE oid = to_regclass(%s))"
"""A table as the server knows it: another one after DROP, TRUNCATE, a restore or a rewrite."""

_DDL = """\
CREATE SCHEMA IF NOT EXISTS holdfast;
CREATE TABLE IF NOT EXISTS holdfast.version (version integer NOT NULL);
CREATE TABLE IF NOT EXISTS holdfast.ledger (
    stream text NOT NULL,
    sink text NOT NULL,
    generation bigint NOT NULL,
    epoch bigint NOT NULL,
    nonce text NOT NULL,
    query_id text NOT NULL,
    checkpoint text NOT NULL,
    last_batch bigint NOT NULL,
    digest text,
    end_offsets text NOT NULL,
    target text,
    rows bigint,
    committed_at timestamptz,
    PRIMARY KEY (stream, sink)
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS holdfast.history (
    stream text NOT NULL,
    sink text NOT NULL,
    generation bigint NOT NULL,
    batch bigint NOT NULL,
    epoch bigint NOT NULL,
    digest text NOT NULL,
    rows bigint NOT NULL,
    committed_at timestamptz NOT NULL,
    PRIMARY KEY (stream, sink, generation, batch, epoch)
);
INSERT INTO holdfast.version SELECT {version} WHERE NOT EXISTS (SELECT FROM holdfast.version);
"""


class LedgerTablesError(HoldfastError):
    """The ledger's tables are not there, not ours to use, or of another version."""

    code = "LEDGER_TABLES"

    def __init__(self, *, why: str, how: str) -> None:
        super().__init__(what="The ledger in PostgreSQL cannot be used.", why=why, how=how)


def ddl() -> str:
    """Return the statements that make the ledger's tables; they can be run again."""
    return _DDL.format(version=VERSION)


def ensure_tables(connection: psycopg.Connection[Any]) -> None:
    """Make the ledger's tables where they are missing; leave the transaction as it was found.

    Raises:
        LedgerTablesError: They cannot be made, or are of a newer version.
    """
    from psycopg import errors

    found = connection.execute("SELECT to_regclass('holdfast.version') IS NOT NULL").fetchone()
    if not found or not found[0]:
        try:
            with connection.transaction():
                # One at a time: "IF NOT EXISTS" of two at once can still fail.
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('holdfast.ddl'))")
                connection.execute(ddl().encode())
        except errors.InsufficientPrivilege as error:
            raise LedgerTablesError(
                why=f"They are not there, and this role may not make them: {error}".rstrip(),
                how="Let somebody who may run the output of: holdfast ledger ddl",
            ) from error
    version = connection.execute("SELECT max(version) FROM holdfast.version").fetchone()
    if version is None or version[0] != VERSION:
        raise LedgerTablesError(
            why=f"They are of version {version and version[0]}; this Holdfast knows {VERSION}.",
            how="Use the Holdfast that made them, or a newer one.",
        )


def read_row(
    connection: psycopg.Connection[Any], stream: str, sink: str, *, lock: bool = False
) -> LedgerRow | None:
    """Read the row of a stream in a sink; with a lock, it is ours until the transaction ends."""
    suffix = " FOR UPDATE" if lock else ""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM holdfast.ledger WHERE stream = %s AND sink = %s{suffix}".encode(),  # noqa: S608 - no value in it
        (stream, sink),
    ).fetchone()
    return None if found is None else _make_row(found)


def replace_row(
    connection: psycopg.Connection[Any], old: LedgerRow | None, new: LedgerRow, *, target: str
) -> bool:
    """Put a row in the place of another, or of none; False when the old one is not there any more.

    The new row carries the epoch of the driver that writes it: settling and fencing is one step.
    """
    values = (*_values(new), target)
    if old is None:
        made = connection.execute(
            f"INSERT INTO holdfast.ledger ({_COLUMNS}, target)"  # noqa: S608 - no value in it
            f" VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {TARGET})"
            " ON CONFLICT DO NOTHING".encode(),
            values,
        )
        return made.rowcount == 1
    made = connection.execute(
        f"UPDATE holdfast.ledger SET ({_COLUMNS}, target, rows) ="  # noqa: S608 - no value in it
        f" (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {TARGET}, NULL)"
        f" WHERE ({_COLUMNS}) IS NOT DISTINCT FROM"
        " (%s, %s, %s::bigint, %s::bigint, %s, %s, %s, %s::bigint, %s, %s)".encode(),
        (*values, *_values(old)),
    )
    return made.rowcount == 1


def _values(row: LedgerRow) -> tuple[Any, ...]:
    """Return a row's values in the order of the columns."""
    return (
        row.stream,
        row.sink,
        row.generation,
        row.epoch,
        row.nonce,
        row.binding.query_id,
        row.binding.checkpoint,
        row.last_batch,
        row.digest,
        row.end_offsets,
    )


def fence(
    connection: psycopg.Connection[Any], row: LedgerRow, *, epoch: int, nonce: str
) -> LedgerRow | None:
    """Let the driver of an epoch write, and no older one; None when the row is not its to take.

    It is taken only from a lower epoch and only with the binding that was read: a driver that slept
    between its lease and this cannot win over a newer one, and another's row is left alone.
    """
    found = connection.execute(
        "UPDATE holdfast.ledger SET epoch = %s, nonce = %s WHERE stream = %s AND sink = %s"  # noqa: S608 - no value in it
        f" AND epoch < %s AND query_id = %s AND checkpoint = %s RETURNING {_COLUMNS}".encode(),
        (
            epoch,
            nonce,
            row.stream,
            row.sink,
            epoch,
            row.binding.query_id,
            row.binding.checkpoint,
        ),
    ).fetchone()
    return None if found is None else _make_row(found)


def advance_row(
    connection: psycopg.Connection[Any], attempt: Attempt, *, rows: int, target: str
) -> None:
    """Write down that a batch has arrived; in the transaction that wrote its data."""
    connection.execute(
        "UPDATE holdfast.ledger SET last_batch = %s, digest = %s, end_offsets = %s, rows = %s,"  # noqa: S608 - no value in it
        f" committed_at = now(), target = {TARGET} WHERE stream = %s AND sink = %s".encode(),
        (
            attempt.batch_id,
            attempt.digest,
            attempt.end_offsets,
            rows,
            target,
            attempt.stream,
            attempt.sink,
        ),
    )
    connection.execute(
        "INSERT INTO holdfast.history"
        " (stream, sink, generation, batch, epoch, digest, rows, committed_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, now())",
        (
            attempt.stream,
            attempt.sink,
            attempt.generation,
            attempt.batch_id,
            attempt.epoch,
            attempt.digest,
            rows,
        ),
    )


def _make_row(found: tuple[Any, ...]) -> LedgerRow:
    stream, sink, generation, epoch, nonce, query_id, checkpoint, last, digest, end = found
    return LedgerRow(
        stream=stream,
        sink=sink,
        generation=generation,
        epoch=epoch,
        nonce=nonce,
        binding=Binding(query_id=QueryId(query_id), checkpoint=checkpoint),
        last_batch=BatchId(last),
        digest=digest,
        end_offsets=end,
    )
