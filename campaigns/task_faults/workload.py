"""Files with known rows, and a table that one task writes them to."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from campaigns.streams.postgres_workload import SNAPSHOT, batches_told
from campaigns.task_faults import files_to_postgres
from holdfast.drills.builtin.workload import write_files
from holdfast.drills.drill import Answer, Seen
from holdfast.drills.kill import Driver
from lab import Postgres
from lab.cluster import Cluster
from lab.faults.tcp_proxy import TcpProxy
from lab.spark import environment

FILES_PER_BATCH, BATCHES = 8, 2
ROWS_PER_FILE = 4_000
ROWS_PER_BATCH = FILES_PER_BATCH * ROWS_PER_FILE
PADDING = "." * 500
"""Makes a batch larger than what waits between an executor and its Python worker."""


def line(row: int) -> str:
    """Return a row as it is in the file and in the table."""
    return f"{row} {PADDING} end of {row}"


def rows_after(batches: int) -> list[tuple[int, str]]:
    """Return the rows of so many batches, each with the digest of its line."""
    rows = range(batches * ROWS_PER_BATCH)
    return [(row, hashlib.md5(line(row).encode()).hexdigest()) for row in rows]  # noqa: S324


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A stream of files into a table, and the proxy in front of that; `Sinks` of a drill."""

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
            striker=self.proxy,
        )

    def on_cluster(self, cluster: Cluster, settings: Mapping[str, str] | None = None) -> Driver:
        """Return a driver whose executors alone go through the proxy."""
        given = cluster.settings(executors={"READINGS_DSN": self.through})
        return self.driver({**given, **(settings or {})}, dsn=self.dsn)

    @property
    def answers(self) -> Sequence[Answer]:
        """What the table must hold after each batch."""
        after = [rows_after(batches) for batches in range(BATCHES + 1)]
        return [Answer(sink="readings", after=after)]

    def look(self) -> Iterator[Seen]:
        """Read the table, with what the ledger tells, in one snapshot."""
        with psycopg.connect(self.dsn) as connection:
            connection.execute(SNAPSHOT)
            parts = batches_told(connection)
            rows = connection.execute("SELECT id, md5(value) FROM readings").fetchall()
        yield Seen(sink="readings", parts=parts, rows=rows)

    def batches(self) -> int:
        """Return how many batches the ledger tells of."""
        with psycopg.connect(self.dsn) as connection:
            return batches_told(connection)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement beside the stream."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()


@contextmanager
def make_work(postgres: Postgres, directory: Path) -> Iterator[Work]:
    """Write files, and create a new database with an empty table behind a proxy."""
    files = FILES_PER_BATCH * BATCHES
    write_files(directory / "files", files=files, rows_per_file=ROWS_PER_FILE, line=line)
    name = f"task_{uuid.uuid4().hex[:8]}"
    dsn = postgres.create_database(name)
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE readings (id bigint, value text)")
    with TcpProxy(postgres.port) as proxy:
        through = postgres.dsn(name, port=proxy.port)
        yield Work(directory=directory, dsn=dsn, proxy=proxy, through=through)
