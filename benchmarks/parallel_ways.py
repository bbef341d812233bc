"""How several connections could bring one batch into PostgreSQL as one commit, without Holdfast.

    python -m benchmarks.parallel_ways [--rows N] [--rounds N] [--connections 1,2,4]

Every way copies the same rows of some 100 bytes, made before, with a ledger row: one connection
into the table; several into unlogged tables, of which one INSERT … SELECT brings them over; several
into tables that one transaction attaches as partitions; several that prepare their transactions,
which are then committed one by one. Beside them stand bare COPYs that commit on their own: the most
that a server does with so many connections. The ways take turns, and each round is checked. At the
end the CPU of a row is carried over to a server with 32 cores; that is arithmetic.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import click
import psycopg
from psycopg import sql

from benchmarks.measuring import spread
from benchmarks.postgres_speed import server_pid
from benchmarks.throughput import Figures, Way, measure, show, times_faster
from lab import Postgres

DATABASE = "ways"
MOST = 8
MOST_WARM = 1
CORES = 32
CONNECTIONS_THERE = 16
_CHUNK = 1 << 20
_COLUMNS = "id bigint NOT NULL, part integer NOT NULL, note text"
_LEDGER = "UPDATE ledger SET batch = batch + 1"
_SETUP = (
    f"CREATE TABLE plain ({_COLUMNS})",
    f"CREATE TABLE parted ({_COLUMNS}) PARTITION BY LIST (part)",
    "CREATE TABLE ledger (batch bigint)",
    "INSERT INTO ledger VALUES (0)",
    *(f"CREATE UNLOGGED TABLE staged_{number} ({_COLUMNS})" for number in range(MOST)),
)


class PreparingPostgres(Postgres):
    """A server that allows prepared transactions."""

    def _command(self) -> list[str]:
        return [*super()._command(), f"--max_prepared_transactions={MOST}"]


def make_part(part: int, first: int, last: int) -> list[bytes]:
    """Return rows as COPY takes them, in chunks."""
    note = "n" * 88
    text = "".join(f"{number}\t{part}\t{note}\n" for number in range(first, last)).encode()
    return [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)]


class Bench:
    """A server, the rows in so many parts, and what the last step of each way took."""

    def __init__(self, server: Postgres, rows: int) -> None:
        """Make the tables."""
        self.server = server
        self.rows = rows
        self.dsn = server.create_database(DATABASE)
        self.parts: dict[int, list[list[bytes]]] = {}
        self.last_step: dict[str, list[float]] = {}
        self.execute(*_SETUP)

    def execute(self, *statements: str) -> list[Any]:
        """Run statements, each in a transaction of its own; return the rows of the last."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def split(self, connections: int) -> None:
        """Make the rows in so many parts."""
        bounds = [self.rows * number // connections for number in range(connections + 1)]
        self.parts[connections] = [
            make_part(number, *bounds[number : number + 2]) for number in range(connections)
        ]

    def empty(self) -> None:
        """Have every table empty, and nothing of the last round left to be written."""
        staged = ", ".join(f"staged_{number}" for number in range(MOST))
        attached = self.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'parted'::regclass"
        )
        self.execute(
            f"TRUNCATE plain, {staged}",
            *(f"DROP TABLE {name}" for (name,) in attached),
            "CHECKPOINT",
        )

    def check(self, table: str) -> None:
        """Hold a table against the rows that were copied."""
        expected = (self.rows, self.rows * (self.rows - 1) // 2)
        found = self.execute(f"SELECT count(*), sum(id) FROM {table}")  # noqa: S608 - ours
        assert found == [expected], found

    def copy_all(self, connections: int, into: Callable[[int], tuple[str, list[str]]]) -> None:
        """Copy all parts side by side, each over a connection and in a transaction of its own.

        Args:
            connections: How many.
            into: From the number of a part, its table and the statements after it.
        """

        def copy(number: int) -> None:
            table, after = into(number)
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                connection.execute("BEGIN")
                send(connection, table, self.parts[connections][number])
                for statement in after:
                    connection.execute(statement.encode())

        threads = [threading.Thread(target=copy, args=(number,)) for number in range(connections)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def finish(self, name: str, *statements: str) -> None:
        """Run the last step of a way, and keep how long it took."""
        began = time.perf_counter()
        self.execute(*statements)
        self.last_step.setdefault(name, []).append(time.perf_counter() - began)


def send(connection: psycopg.Connection[Any], table: str, chunks: list[bytes]) -> None:
    """Copy chunks into a table, in the transaction there is."""
    statement = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for chunk in chunks:
            copy.write(chunk)


def one_copy(bench: Bench) -> None:
    """One connection, the ledger row in its transaction: what `hf.Postgres` does."""
    bench.copy_all(1, lambda _: ("plain", [_LEDGER, "COMMIT"]))


def bare_copies(bench: Bench, connections: int) -> None:
    """As many commits as connections: no ledger can come with them."""
    bench.copy_all(connections, lambda _: ("plain", ["COMMIT"]))


def staged(bench: Bench, name: str, connections: int) -> None:
    """Unlogged tables, and one statement that brings all of them over."""
    bench.copy_all(connections, lambda number: (f"staged_{number}", ["COMMIT"]))
    tables = " UNION ALL ".join(f"SELECT * FROM staged_{number}" for number in range(connections))  # noqa: S608
    insert = f"INSERT INTO plain {tables}"
    bench.finish(name, "BEGIN", insert, _LEDGER, "COMMIT")


def attached(bench: Bench, name: str, connections: int) -> None:
    """Tables of their own, with a constraint that saves the server a look at their rows."""
    made = [f"part_{number}" for number in range(connections)]
    bench.execute(
        *(
            f"CREATE TABLE {table} (LIKE parted, CHECK (part = {number}))"
            for number, table in enumerate(made)
        )
    )
    bench.copy_all(connections, lambda number: (made[number], ["COMMIT"]))
    attaching = [
        f"ALTER TABLE parted ATTACH PARTITION {table} FOR VALUES IN ({number})"
        for number, table in enumerate(made)
    ]
    bench.finish(name, "BEGIN", *attaching, _LEDGER, "COMMIT")


def prepared(bench: Bench, name: str, connections: int) -> None:
    """Transactions that a ledger row names before they are committed, one after the other."""
    bench.copy_all(connections, lambda number: ("plain", [f"PREPARE TRANSACTION 'part_{number}'"]))
    commits = [f"COMMIT PREPARED 'part_{number}'" for number in range(connections)]
    bench.finish(name, "BEGIN", _LEDGER, "COMMIT", *commits)


def ways_of(bench: Bench, connections: list[int]) -> list[Way]:
    """Return all ways, the one connection first."""
    runs: dict[str, tuple[Callable[[], object], str]] = {
        "one COPY, one commit": (partial(one_copy, bench), "plain")
    }
    for count in connections:
        bench.split(count)
        if count > 1:
            runs[f"{count} bare COPYs"] = (partial(bare_copies, bench, count), "plain")
        for kind, run, table in (
            ("staged, INSERT … SELECT", staged, "plain"),
            ("partitions, attached", attached, "parted"),
            ("prepared transactions", prepared, "plain"),
        ):
            name = f"{count} {kind}"
            runs[name] = (partial(run, bench, name, count), table)
    return [
        Way(name=name, run=run, prepare=bench.empty, check=partial(bench.check, table))
        for name, (run, table) in runs.items()
    ]


def report(bench: Bench, found: dict[str, Figures]) -> None:
    """Print how each way compares with one COPY, and what its last step takes."""
    (first, alone), *others = found.items()
    print(f"  {'':<34}{'times one COPY':<28}last step, s")
    for name, figures in others:
        last = bench.last_step.get(name, [])[-len(figures.wall) :]
        told = spread(last).show(3) if last else "-"
        print(f"  {name:<34}{times_faster(figures, alone).show(2):<28}{told}")
    one = spread(alone.server).median / bench.rows
    print(f"  On {CORES} cores with {CONNECTIONS_THERE} connections, from the CPU of a row:")
    print(f"  {first:<34}{1e-6 / one:.1f} million rows/s: one backend")
    most = max(int(name.split()[0]) for name, _ in others)
    for kind in ("staged, INSERT … SELECT", "partitions, attached", "prepared transactions"):
        figures, name = found[f"{most} {kind}"], f"{most} {kind}"
        step = spread(bench.last_step[name][-len(figures.wall) :]).median
        # The last step of the staged way is one backend that works; of the others it waits a bit.
        serial = step / bench.rows if kind.startswith("staged") else 0.0
        copied = max(0.0, spread(figures.server).median / bench.rows - serial)
        rate = 1e-6 / (copied / CONNECTIONS_THERE + serial)
        print(f"  {kind:<34}{rate:.1f} million rows/s, if WAL and disk keep up")


@click.command(help=__doc__)
@click.option("--rows", default=2_000_000, show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--connections", default="1,2,4", show_default=True)
def main(*, rows: int, rounds: int, connections: str) -> None:
    """Measure all ways in turns."""
    counts = [int(count) for count in connections.split(",")]
    print(f"{rows:,} rows of some 100 bytes, {rounds} rounds")
    with ExitStack() as opened:
        server = opened.enter_context(PreparingPostgres())
        bench = Bench(server, rows)
        if 1 not in counts:
            bench.split(1)
        ways = ways_of(bench, counts)
        found = measure(ways, rounds=rounds, server_pid=server_pid(server), most_warm=MOST_WARM)
        show(found, rows=rows)
        report(bench, found)


if __name__ == "__main__":
    main()
