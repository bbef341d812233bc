"""One batch into PostgreSQL as partitions: tasks copy, one transaction attaches all of it.

P1 each task copies its rows into a new table of its own, and commits. P2 it returns the name of
that table; Spark passes the answer on only when the whole task has succeeded. Then the driver, in
the transaction of the ledger row (S2 to S6): P3 attaches the tables that were named, P4 renames
them, so that they are partitions like others, P5 sees that nothing of them was changed meanwhile.
P6 Once the batch has arrived, tables of earlier attempts that nobody attached are dropped.

A name tells a table that waits (`hf_new_…`, with stream, epoch and batch) from a partition. A table
that is detached later keeps the name of a partition, so P6 never finds it. A waiting table is dead
once the ledger row has a higher epoch or its batch: no transaction attaches it any more.

`COPY … FREEZE` makes the rows visible to every snapshot. Without it, a REPEATABLE READ transaction
that began between two tasks would see the rows of one of them after the commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec

from holdfast.events import emit
from holdfast.events.batches import RowsSent
from holdfast.events.event import Warned
from holdfast.sinks.postgres.attach_check import find_barrier
from holdfast.sinks.postgres.failures import is_gone
from holdfast.sinks.postgres.ledger_rows import STORAGE, pin_storage
from holdfast.sinks.postgres.parts import StageLostError, is_dead
from holdfast.sinks.postgres.target import PART, Attaching, Target, quote
from holdfast.sinks.postgres.witness import keep_witness
from holdfast.sinks.postgres.write import BatchTransaction, RowsInParts
from holdfast.sinks.table_changed import TableChangedError

if TYPE_CHECKING:
    import psycopg

    from holdfast.ledger.row import Attempt, LedgerRow

CHECK = "holdfast_part_is"
"""The constraint by which ATTACH knows, without a look at the rows, that they belong there."""
_DROP_TIMEOUT_MS = 1_000
_NAME_BYTES = 63
_WAITING = """\
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r' AND NOT c.relispartition AND c.relname ~ %s"""
_FILES = """\
SELECT c.relname, c.oid || '/' || c.relfilenode
FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE i.inhparent = to_regclass(%s) AND c.relname = ANY (%s)"""
_STORAGE_NOW = f"SELECT {STORAGE} FROM pg_class c WHERE c.oid = to_regclass(%s)"  # noqa: S608 - no value in it


class NewPart(msgspec.Struct, frozen=True, kw_only=True):
    """What one task has made of its rows."""

    rows: int
    value: int = 0
    """Of `holdfast_part`, the same in all of them."""
    file: str = ""
    """Oid and file of the table, as the ledger keeps them."""


class AttachedParts(RowsInParts):
    """The rows of a batch, as its tasks have copied them into tables."""

    def __init__(self, parts: Iterable[NewPart]) -> None:
        """Take the answers of all tasks."""
        self._parts = tuple(part for part in parts if part.rows)

    def copy_into(self, step: BatchTransaction, table: str) -> int:
        """Attach the tables; return how many rows they have."""
        rows = 0
        for part in self._parts:
            _attach(step, part, table)
            rows += part.rows
            emit(RowsSent(**step.at, rows=rows))
        if self._parts:
            self._check(step)
        return rows

    def pin(self, step: BatchTransaction, row: LedgerRow) -> bool:
        """Keep the storage of the table with its new partitions, and rows of these.

        So a partition that is truncated before the next batch is noticed by that.
        """
        if not self._parts:
            return False
        found = step.connection.execute(_STORAGE_NOW.encode(), (step.target.name,)).fetchone()
        storage = str(found[0]) if found else ""
        pin_storage(step.connection, row, storage=storage)
        names = (part_name(step.attempt, step.target, each.value) for each in self._parts)
        namespace = quote(_attaching(step.target).namespace)
        newest = tuple(f"{namespace}.{quote(name)}" for name in names)
        keep_witness(step.connection, row, step.target, storage=storage, parts=newest)
        return True

    def _check(self, step: BatchTransaction) -> None:
        """See, under the locks, that the tables are those that the tasks have filled."""
        target, shown = step.target, step.target.display_name
        wanted = {part_name(step.attempt, target, each.value): each.file for each in self._parts}
        there = step.connection.execute(_FILES, (target.name, list(wanted))).fetchall()
        if dict(there) != wanted:
            why = "A table that a task had filled was truncated or replaced before it was attached."
            raise StageLostError(shown, step.attempt.batch_id, why=why)
        barrier = find_barrier(step.connection, target.name)
        if barrier is not None:
            raise TableChangedError(shown, step.attempt.batch_id, why=barrier.why)


def _attach(step: BatchTransaction, part: NewPart, table: str) -> None:
    from psycopg import errors

    attaching = _attaching(step.target)
    name = waiting_name(step.attempt, part.value)
    new = f"{quote(attaching.namespace)}.{quote(name)}"
    final = quote(part_name(step.attempt, step.target, part.value))
    try:
        step.connection.execute(
            f"ALTER TABLE {table} ATTACH PARTITION {new} FOR VALUES IN ({part.value});"
            f" ALTER TABLE {new} DROP CONSTRAINT {CHECK};"
            f" ALTER TABLE {new} RENAME TO {final}".encode()
        )
    except (errors.UndefinedTable, errors.DatatypeMismatch) as error:
        said = error.diag.message_primary
        why = f"The table {name}, which a task had filled, could not be attached: {said}."
        raise StageLostError(step.target.display_name, step.attempt.batch_id, why=why) from error


def stream_mark(stream: str, sink: str) -> str:
    """Return what the names of tables have in common that wait for one stream."""
    return sha256(f"{stream}/{sink}".encode()).hexdigest()[:12]


def waiting_name(attempt: Attempt, value: int) -> str:
    """Return the name of a table until it is attached.

    The random value comes first: PostgreSQL cuts the ends of long names when it names the indexes
    of a table after it, and two tasks would wait for each other with the same name of an index.
    """
    mark = stream_mark(attempt.stream, attempt.sink)
    return f"hf_new_{value:016x}_{mark}_{attempt.epoch}_{attempt.batch_id}"


def part_name(attempt: Attempt, target: Target, value: int) -> str:
    """Return the name of a partition: `readings_17_3f0a…`, with the number of its batch."""
    end = f"_{attempt.batch_id}_{value:x}"
    table = _attaching(target).relation.encode()[: _NAME_BYTES - len(end)]
    return table.decode(errors="ignore") + end


def drop_waiting(connection: psycopg.Connection, target: Target, attempt: Attempt) -> None:
    """Drop the tables of this stream that nobody attaches any more, once a batch has arrived.

    What cannot be dropped now is dropped after a later batch; the batch has arrived either way.
    """
    from psycopg import Error

    namespace = _attaching(target).namespace
    mark = stream_mark(attempt.stream, attempt.sink)
    pattern = rf"^hf_new_[0-9a-f]{{16}}_{mark}_[0-9]+_[0-9]+$"
    try:
        found = connection.execute(_WAITING, (namespace, pattern)).fetchall()
        names = [name for (name,) in found if _is_over(name, attempt)]
        left = [why for name in names if (why := _drop(connection, namespace, name))]
    except Error as error:
        left = [] if is_gone(connection, error) else [str(error.diag.message_primary)]
    if left:
        emit(Warned(f"tables of earlier attempts were not dropped: {'; '.join(left)}"))


def _is_over(name: str, attempt: Attempt) -> bool:
    _, _, value, of_stream, epoch, batch = name.split("_")
    told = f"{of_stream}_{epoch}_{batch}_0_{value}"
    return is_dead(told, epoch=attempt.epoch, batch=attempt.batch_id)


def _drop(connection: psycopg.Connection, namespace: str, name: str) -> str | None:
    """Drop a table, unless it has become a partition or is in use; return why it cannot be."""
    from psycopg import Error, errors

    table = f"{quote(namespace)}.{quote(name)}"
    try:
        with connection.transaction():
            connection.execute(
                f"SET LOCAL lock_timeout = {_DROP_TIMEOUT_MS};"
                f" LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE".encode()
            )
            is_part = connection.execute(
                "SELECT relispartition FROM pg_class WHERE oid = to_regclass(%s)", (table,)
            ).fetchone()
            if is_part is not None and not is_part[0]:
                connection.execute(f"DROP TABLE {table}".encode())
    except (errors.LockNotAvailable, errors.UndefinedTable):
        return None
    except Error as error:
        if is_gone(connection, error):
            raise
        return error.diag.message_primary
    return None


def _attaching(target: Target) -> Attaching:
    assert target.attaching is not None
    return target.attaching


def table_for(target: Target, attempt: Attempt, value: int) -> tuple[str, str]:
    """Return the name of a new table that waits, and the statements that create it."""
    new = f"{quote(_attaching(target).namespace)}.{quote(waiting_name(attempt, value))}"
    create = (
        f"CREATE TABLE {new} (LIKE {target.name} INCLUDING ALL EXCLUDING IDENTITY,"
        f" CONSTRAINT {CHECK} CHECK ({PART} = {value}));"
        f" ALTER TABLE {new} ALTER COLUMN {PART} SET DEFAULT {value}"
    )
    return new, create
