"""One batch into PostgreSQL in parts: tasks stage their rows, one transaction takes all of them.

A task keeps few rows in its answer, as the bytes that COPY takes, and copies many into an UNLOGGED
table of its own. Whoever commits reads the ledger, decides, and moves both into the table in the
transaction that advances the ledger (S2 to S6). What a task has staged counts only by its answer,
which Spark passes on when the whole task has succeeded: a task whose input has failed has none. The
server's count of each staged table is compared with the task's, because a crash of the server
empties UNLOGGED tables.

A staged table belongs to one epoch. Once the ledger row has a higher one, no transaction can take
it any more, and it is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, cast

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.batches import RowsSent
from holdfast.sinks.postgres.connect import connect
from holdfast.sinks.postgres.failures import DroppedRowsError, is_gone, refusal_of
from holdfast.sinks.postgres.target import quote
from holdfast.sinks.postgres.write import BatchTransaction, RowsInParts, copy_rows, encode_rows

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

    from holdfast.sinks.parts import StagedPart
    from holdfast.sinks.postgres.target import Target
    from holdfast.sinks.postgres.write import Piece
    from holdfast.sinks.secrets import Secret

SCHEMA = "holdfast_stage"
KEPT_BYTES = 256 << 10
"""More than this of one task goes into a table: answers pass through the driver's memory."""
LOCK_TIMEOUT_MS = 5_000
_STAGES = """\
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r' AND c.relname ~ %s"""


class StageLostError(HoldfastError):
    """Rows that a task has staged are not there any more; nothing of the batch was committed."""

    code = "STAGE_LOST"
    retryable = True

    def __init__(self, shown: str, batch_id: int, *, why: str) -> None:
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why=why,
            how="Start the stream again: Spark runs the batch again.",
        )


class StageRefusedError(HoldfastError):
    """The schema for staged rows is missing, and this role may not create it."""

    code = "STAGE_SCHEMA"

    def __init__(self, shown: str) -> None:
        super().__init__(
            what=f"The stream was not started on {shown}.",
            why=f"Its tasks stage rows in tables of the schema {SCHEMA}, where this role may not "
            "create one.",
            how=f"Ask a database owner to run:  CREATE SCHEMA IF NOT EXISTS {SCHEMA}; "
            f"GRANT CREATE, USAGE ON SCHEMA {SCHEMA} TO the_role;",
        )


class Part(NamedTuple):
    """What one task has made of its rows."""

    rows: int
    kept: bytes = b""
    """Few rows, as COPY takes them."""
    table: str = ""
    """Where many rows are staged; empty when they are kept."""


class Stage(NamedTuple):
    """Where the tasks of one start stage their rows; sent to executors."""

    dsn: Secret
    target: Target
    stream: str
    sink: str
    epoch: int

    def write(
        self, batches: Iterable[pa.RecordBatch], *, batch: int, partition: int, attempt: int
    ) -> Part:
        """Keep the rows of a task, or stage them when they are many.

        Args:
            batches: The rows.
            batch: Spark's number of the micro-batch.
            partition: Of the task.
            attempt: Of the task; no two attempts of one application have one number.

        Raises:
            ValueRefusedError: The table would not hold a value as it is.
            psycopg.Error, HoldfastError: The server did not take them.
        """
        kept, rows = bytearray(), 0
        pieces = ((encode_rows(self.target, each, batch), each.num_rows) for each in batches)
        for data, count in pieces:
            kept += data
            rows += count
            if len(kept) > KEPT_BYTES:
                prefix = stage_prefix(self.stream, self.sink)
                table = f"{prefix}_{self.epoch}_{batch}_{partition}_{attempt}"
                return self._stage(chain([(bytes(kept), rows)], pieces), table=table)
        return Part(rows=rows, kept=bytes(kept))

    def _stage(self, pieces: Iterable[Piece], *, table: str) -> Part:
        name = f"{SCHEMA}.{quote(table)}"
        with connect(self.dsn) as connection, connection.transaction():
            connection.execute(
                f"CREATE UNLOGGED TABLE {name} WITH (autovacuum_enabled = false) AS"  # noqa: S608 - quoted
                f" SELECT {self.target.column_list} FROM {self.target.name} WITH NO DATA".encode()
            )
            with connection.cursor() as cursor:
                rows = copy_rows(cursor, self.target, pieces, into=name)
        return Part(rows=rows, table=table)


class Parts(RowsInParts):
    """The rows of a batch, as its tasks have kept and staged them."""

    def __init__(self, parts: Iterable[StagedPart]) -> None:
        """Take the parts of all tasks."""
        self._parts = tuple(cast("Part", part) for part in parts)

    def copy_into(self, step: BatchTransaction, table: str) -> int:
        """Move kept and staged rows into a table; return how many there were."""
        kept = [(part.kept, part.rows) for part in self._parts if not part.table and part.rows]
        rows = step.send(kept, into=table) if kept else 0
        return rows + sum(_take(step, part, into=table) for part in self._parts if part.table)


def _take(step: BatchTransaction, part: Part, *, into: str) -> int:
    from psycopg import errors

    stage, columns = f"{SCHEMA}.{quote(part.table)}", step.target.column_list
    shown, batch = step.target.display_name, step.attempt.batch_id
    try:
        # As COPY does, it takes a value for a column that is GENERATED ALWAYS AS IDENTITY.
        came = step.connection.execute(
            f"INSERT INTO {into} ({columns}) OVERRIDING SYSTEM VALUE"  # noqa: S608 - quoted
            f" SELECT {columns} FROM {stage}".encode()
        ).rowcount
    except errors.UndefinedTable as error:
        why = f"The table {stage}, where a task had staged {part.rows:,} rows, is not there."
        raise StageLostError(shown, batch, why=why) from error
    emit(RowsSent(**step.at, rows=came))
    if came == part.rows:
        return came
    found = step.connection.execute(f"SELECT count(*) FROM {stage}".encode()).fetchone()  # noqa: S608 - quoted
    staged = int(found[0]) if found else 0
    if staged != part.rows:
        why = f"A task has staged {part.rows:,} rows, and {staged:,} are there: the server has "
        raise StageLostError(shown, batch, why=f"{why}crashed, which empties UNLOGGED tables.")
    raise DroppedRowsError(shown, part.rows - came)


def stage_prefix(stream: str, sink: str) -> str:
    """Return how the names of a stream's staged tables begin: PostgreSQL cuts at 63 bytes."""
    return f"h{sha256(f'{stream}/{sink}'.encode()).hexdigest()[:12]}"


def ensure_schema(connection: psycopg.Connection, shown: str) -> None:
    """Create the schema for staged tables.

    Raises:
        StageRefusedError: It is not there, or takes no table of this role.
    """
    from psycopg import errors

    found = connection.execute(
        "SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = %s", (SCHEMA,)
    ).fetchone()
    try:
        if found is None:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}".encode())
    except errors.InsufficientPrivilege as error:
        raise StageRefusedError(shown) from error
    except errors.UniqueViolation:  # another start has created it in this moment
        return
    if found is not None and not found[0]:
        raise StageRefusedError(shown)


def drop_tables(connection: psycopg.Connection, names: Iterable[str]) -> None:
    """Drop staged tables; one that is in use stays until the next start.

    A task that still copies into one, or a commit that still reads one, holds a lock on it.
    """
    from psycopg import Error, errors

    for name in names:
        try:
            with connection.transaction():
                connection.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}".encode())
                connection.execute(f"DROP TABLE IF EXISTS {SCHEMA}.{quote(name)}".encode())
        except (errors.LockNotAvailable, errors.InsufficientPrivilege):
            continue
        except Error as error:
            if is_gone(connection, error):
                return
            raise refusal_of(error, SCHEMA) from error


def find_dead(
    connection: psycopg.Connection, stream: str, sink: str, *, epoch: int, batch: int
) -> list[str]:
    """Return the staged tables that no transaction can take any more.

    Args:
        connection: Not in a transaction.
        stream: The stream.
        sink: Its label.
        epoch: The ledger row's: those of an older one are refused.
        batch: Of that epoch, those of this batch and of earlier ones are dead too.
    """
    prefix = stage_prefix(stream, sink)
    pattern = rf"^{prefix}_[0-9]+_[0-9]+_[0-9]+_[0-9]+$"
    found = connection.execute(_STAGES, (SCHEMA, pattern)).fetchall()
    return [name for (name,) in found if is_dead(name, epoch=epoch, batch=batch)]


def is_dead(name: str, *, epoch: int, batch: int) -> bool:
    """Return whether a staged table is of an older epoch, or of a batch that has arrived."""
    _, of_epoch, of_batch, _, _ = name.split("_")
    return int(of_epoch) < epoch or (int(of_epoch) == epoch and int(of_batch) <= batch)
