"""Files with known rows, a table to bring them to by one task, and the judge of what is in it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from benchmarks import files_to_postgres
from benchmarks.guard_workload import SNAPSHOT, batches_told
from holdfast.drills.kill import Driver, TcpProxy
from holdfast.proof.multiset import compare
from lab import Postgres
from lab.cluster import Cluster, is_executor
from lab.spark import environment

FILES_PER_BATCH, BATCHES = 8, 2
ROWS_PER_FILE = 4_000
ROWS_PER_BATCH = FILES_PER_BATCH * ROWS_PER_FILE
PADDING = "." * 500
"""Makes a batch larger than what waits between an executor and its Python worker."""
_TIME = 1_700_000_000


def line(row: int) -> str:
    """Return a row as it is in the file and in the table."""
    return f"{row} {PADDING} end of {row}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A stream of files into a table, and the proxy in front of that."""

    directory: Path
    dsn: str
    proxy: TcpProxy
    through: str
    """The DSN by way of the proxy."""

    @property
    def broken(self) -> Path:
        """While it is there, reading fails once."""
        return self.directory / "broken"

    def driver(self, settings: Mapping[str, str], *, dsn: str) -> Driver:
        """Return a driver of the stream."""
        directory = self.directory / f"driver-{uuid.uuid4().hex[:6]}"
        files, root = self.directory / "files", self.directory / "streams"
        arguments = [files, root, FILES_PER_BATCH, self.broken]
        return Driver(
            [files_to_postgres.__file__, *map(str, arguments)],
            environment={**environment(directory, settings), "READINGS_DSN": dsn},
            directory=directory / "runs",
        )

    def on_cluster(self, cluster: Cluster, settings: Mapping[str, str] | None = None) -> Driver:
        """Return a driver whose executors alone go through the proxy."""
        given = cluster.settings(executors={"READINGS_DSN": self.through})
        return self.driver({**given, **(settings or {})}, dsn=self.dsn)

    def judge(self, *, batches: int | None = None) -> None:
        """Check that the table holds exactly the batches that the ledger says.

        Args:
            batches: How many there must be; any number when it is not given.

        Raises:
            AssertionError: It does not.
        """
        with psycopg.connect(self.dsn) as connection:
            connection.execute(SNAPSHOT)
            told = batches_told(connection)
            found = connection.execute("SELECT id, value FROM readings").fetchall()
        difference = compare([(row, line(row)) for row in range(told * ROWS_PER_BATCH)], found)
        assert difference.exact, f"after {told} batches {difference}"
        assert batches in (None, told), f"{told} batches, not {batches}"

    def batches(self) -> int:
        """Return how many batches the ledger tells of."""
        with psycopg.connect(self.dsn) as connection:
            return batches_told(connection)

    def worker(self) -> psutil.Process:
        """Return the Python process of the one task that has a session by way of the proxy."""
        (found,) = {
            each.pid
            for each in psutil.net_connections("tcp")
            if each.raddr
            and each.raddr.port == self.proxy.port
            and each.pid not in (None, os.getpid())  # closed, or the proxy's own
        }
        return psutil.Process(found)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement beside the stream."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()


def executor_of(worker: psutil.Process) -> psutil.Process:
    """Return the JVM of the executor that a Python process belongs to."""
    (found,) = filter(is_executor, worker.parents())
    return found


@contextmanager
def make_work(postgres: Postgres, directory: Path) -> Iterator[Work]:
    """Write files, and create a new database with an empty table behind a proxy."""
    files = directory / "files"
    files.mkdir(parents=True)
    for number in range(FILES_PER_BATCH * BATCHES):
        first = number * ROWS_PER_FILE
        path = files / f"{number:03}"
        path.write_text("".join(f"{line(row)}\n" for row in range(first, first + ROWS_PER_FILE)))
        os.utime(path, (_TIME + number, _TIME + number))  # read in this order
    name = f"task_{uuid.uuid4().hex[:8]}"
    dsn = postgres.create_database(name)
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE readings (id bigint, value text)")
    with TcpProxy(postgres.port) as proxy:
        through = postgres.dsn(name, port=proxy.port)
        yield Work(directory=directory, dsn=dsn, proxy=proxy, through=through)
