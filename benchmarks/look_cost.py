"""What looking at the target costs a batch in PostgreSQL: with the look and without, in turns.

Every batch locks its table and compares oid, storage and column types with what its start found.
Without the look, the same batch takes the ledger row alone, as before. Both write one row into the
same table in turns, so that whatever else the machine does falls on both. Partitions are part of
the look, so the curve is shown for a table without any and for 10, 100 and 1,000 of them.

    python -m benchmarks.look_cost
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import psycopg
import pyarrow as pa

from benchmarks.attempts import NONCE, attempts, new_row
from holdfast.sinks.postgres import write
from holdfast.sinks.postgres.fence import session_name
from holdfast.sinks.postgres.ledger_rows import read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.look import Look, look_under_lock
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.write import BatchTransaction, write_batch
from lab import Postgres

SCHEMA = pa.schema([("id", pa.int64()), ("value", pa.string())])
ROW = pa.record_batch([pa.array([7]), pa.array(["seven"])], schema=SCHEMA)
PARTITIONS = (0, 10, 100, 1_000)
MOST_MS = 1.0
"""More than this a look may not cost a batch, without partitions."""


def set_limits(step: BatchTransaction) -> None:
    """Begin a batch as before: no lock on the table."""
    name = session_name(step.attempt.stream, step.attempt.sink)
    step.connection.execute(
        f"SET LOCAL lock_timeout = {write.LOCK_TIMEOUT_MS};"
        f" SET LOCAL idle_in_transaction_session_timeout = {write.IDLE_TIMEOUT_MS};"
        f" SET LOCAL application_name = '{name}'".encode()
    )


def read_alone(connection: psycopg.Connection[Any], _: Any, attempt: Any) -> Look:
    """Take the ledger row as before, and look at nothing."""
    row = read_row(connection, attempt.stream, attempt.sink, lock=True)
    return Look(row=row, changed=None, new_storage=None, has_triggers=False)


def use(lock: Callable[[BatchTransaction], None], look: Callable[..., Look]) -> None:
    """Let batches be written in this way from now on."""
    BatchTransaction.lock_table = lock  # type: ignore[method-assign, assignment]
    write.look_under_lock = look  # type: ignore[attr-defined]


def make_table(connection: psycopg.Connection[Any], partitions: int) -> None:
    """Make the table, with so many partitions."""
    connection.execute("DROP TABLE IF EXISTS readings")
    suffix = " PARTITION BY RANGE (id)" if partitions else ""
    connection.execute(f"CREATE TABLE readings (id bigint, value text){suffix}".encode())
    for number in range(partitions):
        bounds = f"FROM ({number * 10}) TO ({number * 10 + 10})"
        name = f"readings_{number}"
        made = f"CREATE TABLE {name} PARTITION OF readings FOR VALUES {bounds}"
        connection.execute(made.encode())


def measure(connection: psycopg.Connection[Any], *, partitions: int, turns: int) -> list[float]:
    """Return what each pair of batches differs by, in milliseconds."""
    make_table(connection, partitions)
    stream = f"stream {partitions}"
    row = replace(new_row(stream, "readings"), epoch=1, nonce=NONCE)
    assert replace_row(connection, None, row, target="readings")
    target = check_table(connection, "readings", SCHEMA)
    following = attempts(new_row(stream, "readings"))
    ways = {True: (BatchTransaction.lock_table, look_under_lock), False: (set_limits, read_alone)}
    took: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(turns + 20):
        for looks in (True, False) if turn % 2 else (False, True):
            use(*ways[looks])
            began = time.perf_counter()
            write_batch(connection, target, next(following), batches=[ROW])
            took[looks].append((time.perf_counter() - began) * 1e3)
    use(*ways[True])
    pairs = zip(took[True][20:], took[False][20:], strict=True)
    differences = [with_look - without for with_look, without in pairs]
    with_look, without = (statistics.median(took[each][20:]) for each in (True, False))
    low, _, high = statistics.quantiles(differences, n=4)
    print(
        f"{partitions:>10,}{without:>12.2f}{with_look:>10.2f}"
        f"{statistics.median(differences):>12.2f}{f'{low:.2f} to {high:.2f}':>18}",
        flush=True,
    )
    return differences


@click.command(help=__doc__)
@click.option("--turns", default=300, show_default=True)
def main(*, turns: int) -> None:
    """Print the table, and end with 1 when a look costs too much."""
    print(f"{'partitions':>10}{'without, ms':>12}{'with':>10}{'difference':>12}{'quartiles':>18}")
    with Postgres() as server:
        dsn = server.create_database("look")
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
            ensure_tables(connection)
            plain, *_ = [measure(connection, partitions=each, turns=turns) for each in PARTITIONS]
    median = statistics.median(plain)
    if median > MOST_MS:
        raise SystemExit(f"a look costs {median:.2f} ms a batch; {MOST_MS} is allowed")


if __name__ == "__main__":
    main()
