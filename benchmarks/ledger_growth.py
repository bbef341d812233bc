"""Whether a batch costs more when many streams share a ledger and its history is long.

    python -m benchmarks.ledger_growth [--batches N]

Small batches are written without Spark, into ledgers of three sizes that take turns. Beside their
times stand the pages that PostgreSQL touches for each statement of the ledger. Ends with 1 when the
largest ledger touches more pages than its trees are deeper, or its batches are twice as slow.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import click
import psycopg
import pyarrow as pa

from benchmarks.attempts import NONCE, attempts, new_row
from holdfast.ledger import Attempt
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.write import write_batch
from lab import Postgres

SIZES = ((1, 0), (50, 100_000), (500, 1_000_000))
"""Streams in the ledger, and batches in its history."""
ROWS = 100
SCHEMA = pa.schema([("id", pa.int64())])
MOST_MORE_PAGES = 9
"""Three statements, each down a tree of at most three more levels."""
MOST_TIMES_SLOWER = 2.0
_PAST = """\
INSERT INTO holdfast.history (stream, sink, generation, batch, epoch, digest, rows, committed_at)
SELECT 'stream ' || i % {streams}, 'readings', 1, i / {streams} + 1000000000, 1, md5(i::text), 1, now()
FROM generate_series(0, {past} - 1) i
"""  # noqa: E501
_STATEMENTS = {
    "read and lock": "SELECT * FROM holdfast.ledger WHERE stream = 'stream 0'"
    " AND sink = 'readings' FOR UPDATE",
    "advance": "UPDATE holdfast.ledger SET last_batch = 7, digest = 'd', end_offsets = 'e',"
    " rows = 1, committed_at = now() WHERE stream = 'stream 0' AND sink = 'readings'",
    "history": "INSERT INTO holdfast.history"
    " (stream, sink, generation, batch, epoch, digest, rows, committed_at)"
    " VALUES ('stream 0', 'readings', 1, 999999999, 1, 'd', 1, now())",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """A ledger of some size, and a stream in it that goes on."""

    connection: psycopg.Connection[Any]
    target: Target
    following: Iterator[Attempt]
    seconds: list[float]

    def write(self) -> None:
        """Write one more batch and keep how long it took."""
        batch = pa.record_batch([pa.array(range(ROWS), pa.int64())], schema=SCHEMA)
        attempt = next(self.following)
        began = time.perf_counter()
        write_batch(self.connection, self.target, attempt, batches=[batch])
        self.seconds.append(time.perf_counter() - began)

    def pages(self, statement: str) -> int:
        """Return how many pages a statement touches, planning left out; nothing stays of it."""
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}".encode()
        with self.connection.transaction(force_rollback=True):
            found = self.connection.execute(explain).fetchone()
        assert found is not None
        plan = found[0][0]["Plan"] if not isinstance(found[0], str) else json.loads(found[0])[0]
        return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def make_ledger(server: Postgres, *, streams: int, past: int) -> Ledger:
    """Fill a ledger with streams and a history."""
    dsn = server.create_database(f"growth_{streams}")
    connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=None)
    ensure_tables(connection)
    connection.execute("CREATE TABLE readings (id bigint)")
    for number in range(streams):
        row = replace(new_row(f"stream {number}", "readings"), epoch=1, nonce=NONCE)
        replace_row(connection, None, row, target="readings")
    connection.execute(_PAST.format(streams=streams, past=past).encode())
    connection.execute("VACUUM ANALYZE")
    connection.execute("CHECKPOINT")
    return Ledger(
        connection=connection,
        target=check_table(connection, "readings", SCHEMA),
        following=attempts(new_row("stream 0", "readings")),
        seconds=[],
    )


def show(size: tuple[int, int], ledger: Ledger, pages: dict[str, int]) -> None:
    """Print one size."""
    middle = statistics.median(ledger.seconds) * 1e3
    high = statistics.quantiles(ledger.seconds, n=20)[-1] * 1e3
    counts = "".join(f"{count:>15}" for count in pages.values())
    print(f"{size[0]:>9,}{size[1]:>12,}{middle:>10.2f}{high:>10.2f}{counts}")


@click.command(help=__doc__)
@click.option("--batches", default=200, show_default=True)
def main(*, batches: int) -> None:
    """Measure the sizes in turns and fail when the largest costs more."""
    with Postgres() as server:
        ledgers = [make_ledger(server, streams=streams, past=past) for streams, past in SIZES]
        for _ in range(batches // 10 + batches):
            for ledger in ledgers:
                ledger.write()
        heads = "".join(f"{name:>15}" for name in _STATEMENTS)
        print(f"{batches} batches of {ROWS} rows each, in turns; pages touched by a statement")
        print(f"{'streams':>9}{'history':>12}{'p50 ms':>10}{'p95 ms':>10}{heads}")
        touched = []
        for size, ledger in zip(SIZES, ledgers, strict=True):
            del ledger.seconds[: batches // 10]
            touched.append({name: ledger.pages(text) for name, text in _STATEMENTS.items()})
            show(size, ledger, touched[-1])
            ledger.connection.close()
    more = sum(touched[-1].values()) - sum(touched[0].values())
    slower = statistics.median(ledgers[-1].seconds) / statistics.median(ledgers[0].seconds)
    print(f"From the smallest to the largest: {more} more pages, {slower:.2f} times as long (p50)")
    if more > MOST_MORE_PAGES or slower > MOST_TIMES_SLOWER:
        sys.exit("Missed: a batch costs more in a large ledger.")


if __name__ == "__main__":
    main()
