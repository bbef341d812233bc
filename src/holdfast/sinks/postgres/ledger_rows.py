"""The ledger in PostgreSQL: small tables, written in the transaction that writes the data.

    holdfast.ledger     one row per (stream, sink): what has arrived, where, and who may write
    holdfast.history    one row per batch: whose transaction wrote which rows; no batch is decided
                        by it, but an undo finds by it which rows are the stream's own
    holdfast.settled    one row per repair of a table: what was kept aside, and what was put back

Nothing here depends on a session: everything holds inside one transaction, so it works behind a
proxy that pools transactions. A start creates the tables where its role may; otherwise a database
owner runs `ddl()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.ids import BatchId, QueryId
from holdfast.ledger.row import NO_BATCH, Attempt, Binding, LedgerRow

if TYPE_CHECKING:
    import psycopg

COLUMNS = (
    "stream, sink, generation, epoch, nonce, query_id, checkpoint, last_batch, digest, end_offsets"
)

PARTITIONS = """string_agg(
        concat_ws(' ', p.oid || '/' || p.relfilenode, t.parentrelid::oid,
                  pg_get_expr(p.relpartbound, p.oid)),
        E'\\n' ORDER BY t.level, p.oid)"""
"""The storage of a partitioned table, of its tree `t` and the relations `p` in it."""

STORAGE = f"""CASE c.relkind WHEN 'p' THEN (
    SELECT {PARTITIONS} FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid = t.relid)
ELSE c.oid || '/' || c.relfilenode END"""  # noqa: S608 - no value in it
"""The storage of the table `c`, one line for each relation that holds rows or partitions:
`oid/file`, and for a partition its parent and its bounds. A table that was dropped and created
again has another oid; TRUNCATE, VACUUM FULL and other rewrites give it another file."""

_OWN_ROWS = """(SELECT count(*) FROM {table} r WHERE r.tableoid = to_regclass({name})
    OR EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass({name}) AND c.relkind = 'p'))"""
"""Counts the rows of a table and its partitions, without those of tables that inherit from it."""

_SERVER = "SELECT system_identifier::text FROM pg_control_system()"
_ADDRESS = "SELECT concat(host(inet_server_addr()), ':', inet_server_port())"
_AS_IT_WAS = (
    f" WHERE ({COLUMNS}) IS NOT DISTINCT FROM"
    " (%s, %s, %s::bigint, %s::bigint, %s, %s, %s, %s::bigint, %s, %s)"
)
_STORAGE_OF = f"(SELECT {STORAGE} FROM pg_class c WHERE c.oid = to_regclass(%s))"  # noqa: S608 - no value in it


def read_row(
    connection: psycopg.Connection, stream: str, sink: str, *, lock: bool = False
) -> LedgerRow | None:
    """Read the row of a stream in a sink; with a lock, it is ours until the transaction ends."""
    suffix = " FOR UPDATE" if lock else ""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM holdfast.ledger WHERE stream = %s AND sink = %s{suffix}".encode(),  # noqa: S608 - no value in it
        (stream, sink),
    ).fetchone()
    return None if found is None else make_row(found)


def find_label(connection: psycopg.Connection, stream: str, oid: int, *, name: str) -> str | None:
    """Return the label under which the ledger has a stream's rows in a table; None if it has none.

    A sink is its table: one that is named differently in the code is still the same sink.
    """
    found = connection.execute(
        "SELECT sink FROM holdfast.ledger WHERE stream = %s"
        " AND split_part(target, '/', 1) = %s::text ORDER BY sink <> %s, sink LIMIT 1",
        (stream, oid, name),
    ).fetchone()
    return found[0] if found else None


def find_other_streams(connection: psycopg.Connection, stream: str, oid: int) -> tuple[str, ...]:
    """Return the other streams that have a row for a table."""
    found = connection.execute(
        "SELECT DISTINCT stream FROM holdfast.ledger WHERE stream <> %s"
        " AND split_part(target, '/', 1) = %s::text ORDER BY stream",
        (stream, oid),
    ).fetchall()
    return tuple(name for (name,) in found)


def last_epoch(connection: psycopg.Connection, stream: str, sink: str) -> int:
    """Return the highest epoch that has written a batch, by the history; 0 without one.

    The history stays when a ledger row is deleted, or a record is.
    """
    found = connection.execute(
        "SELECT max(epoch) FROM holdfast.history WHERE stream = %s AND sink = %s", (stream, sink)
    ).fetchone()
    return (found[0] if found else None) or 0


def find_identity(connection: psycopg.Connection, oid: int) -> str:
    """Return a table's identity, the same through every address and name that leads to it."""
    may_ask = connection.execute(
        "SELECT has_function_privilege('pg_control_system()', 'execute'),"
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    ).fetchone()
    is_allowed, database = may_ask or (False, 0)
    server = connection.execute(_SERVER if is_allowed else _ADDRESS).fetchone()
    return f"postgresql:{server[0] if server else ''}/{database}/{oid}"


def replace_row(
    connection: psycopg.Connection, old: LedgerRow | None, new: LedgerRow, *, target: str
) -> bool:
    """Put a row in the place of another, or of none; False if the old one is no longer there.

    The new row carries the epoch of the driver that writes it: settling and fencing is one step.
    What was brought is counted from here on, into the table as it is now; if the row says that
    batches have arrived, the rows that are there count as brought.
    """
    brought = "0"
    if new.last_batch > NO_BATCH:
        brought = _OWN_ROWS.format(table=target, name="'" + target.replace("'", "''") + "'")
    values = (*_values(new), target)
    if old is None:
        made = connection.execute(
            f"INSERT INTO holdfast.ledger ({COLUMNS}, target, brought)"  # noqa: S608 - quoted
            f" VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {_STORAGE_OF}, {_escaped(brought)})"
            " ON CONFLICT DO NOTHING".encode(),
            values,
        )
        return made.rowcount == 1
    made = connection.execute(
        f"UPDATE holdfast.ledger SET ({COLUMNS}, target, rows, witness, brought) ="  # noqa: S608 - quoted
        f" (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, {_STORAGE_OF}, NULL, NULL, {_escaped(brought)})"
        f"{_AS_IT_WAS}".encode(),
        (*values, *_values(old)),
    )
    return made.rowcount == 1


def correct_row(connection: psycopg.Connection, old: LedgerRow, new: LedgerRow) -> bool:
    """Set where the last batch of a row ended; False if the row is no longer there as it was."""
    made = connection.execute(
        f"UPDATE holdfast.ledger SET digest = %s, end_offsets = %s{_AS_IT_WAS}".encode(),  # noqa: S608 - no value in it
        (new.digest, new.end_offsets, *_values(old)),
    )
    return made.rowcount == 1


def _escaped(statement: str) -> str:
    """Return a part of a statement with values, in which a name can hold a %."""
    return statement.replace("%", "%%")


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
    connection: psycopg.Connection, row: LedgerRow, *, epoch: int, nonce: str
) -> LedgerRow | None:
    """Let the driver of an epoch write, and no older one; None when the row is not its to take.

    It is taken only from a lower epoch and only with the binding that was read: a driver that slept
    between its lease and this cannot win over a newer one, and another's row is left alone.
    """
    found = connection.execute(
        "UPDATE holdfast.ledger SET epoch = %s, nonce = %s WHERE stream = %s AND sink = %s"  # noqa: S608 - no value in it
        f" AND epoch < %s AND query_id = %s AND checkpoint = %s RETURNING {COLUMNS}".encode(),
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
    return None if found is None else make_row(found)


def pin_storage(connection: psycopg.Connection, row: LedgerRow, *, storage: str) -> None:
    """Write down that the table has another storage now, and still holds what was brought."""
    connection.execute(
        "UPDATE holdfast.ledger SET target = %s WHERE stream = %s AND sink = %s",
        (storage, row.stream, row.sink),
    )


def advance_row(connection: psycopg.Connection, attempt: Attempt, *, rows: int, added: int) -> None:
    """Write down that a batch has arrived; in the transaction that wrote its data.

    Args:
        connection: Inside that transaction.
        attempt: The batch.
        rows: How many rows it has.
        added: How many rows the table has more: of a merge, those that were not updates.
    """
    # One statement, and so one round trip.
    connection.execute(
        "WITH advanced AS (UPDATE holdfast.ledger"
        " SET last_batch = %(batch)s, digest = %(digest)s, end_offsets = %(end)s, rows = %(rows)s,"
        " committed_at = now(), brought = brought + %(added)s"
        " WHERE stream = %(stream)s AND sink = %(sink)s)"
        " INSERT INTO holdfast.history"
        " (stream, sink, generation, batch, epoch, digest, rows, committed_at, xid)"
        " VALUES (%(stream)s, %(sink)s, %(generation)s, %(batch)s, %(epoch)s, %(digest)s, %(rows)s,"
        " now(), pg_current_xact_id()::text::bigint)",
        {
            "stream": attempt.stream,
            "sink": attempt.sink,
            "generation": attempt.generation,
            "batch": attempt.batch_id,
            "epoch": attempt.epoch,
            "digest": attempt.digest,
            "end": attempt.end_offsets,
            "rows": rows,
            "added": added,
        },
    )


def make_row(found: tuple[Any, ...]) -> LedgerRow:
    """Return the row that these values of `COLUMNS` are."""
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
