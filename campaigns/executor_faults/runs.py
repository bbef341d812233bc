"""Tasks that fail, stand still or die with their executor, under every kind of sink: exact.

    python -m campaigns.executor_faults [local-cluster] [standalone]

In the first attempt of a task of batch 0 an error is raised, in batch 1 its executor is killed, and
on the standalone cluster it stands still in batch 2 until Spark's copy of it has won (Spark copies
a task to another host only, which `local-cluster` has not). Always in the middle of its rows. The
streams of all sinks run in one driver; each fault leaves a mark, or the run is worth nothing.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

from campaigns.executor_faults import faulty_tasks
from campaigns.executor_faults.faulty_tasks import (
    FILES_PER_BATCH,
    KEYS,
    KILLED,
    RAISED,
    ROWS_PER_FILE,
    SINKS,
    STANDS_STILL,
)
from campaigns.judging import judge
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.drills.builtin.workload import write_files
from holdfast.drills.drill import Answer, Seen
from holdfast.drills.history import Row
from holdfast.drills.kill import Driver
from holdfast.storage import open_reader
from lab import Postgres
from lab.cluster import Cluster, executor_settings
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

SECONDS = 600.0
LOCAL = {"spark.master": "local-cluster[2,1,1024]"}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.task.duration.threshold": "5s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Files with known rows, and where they are written to; `Sinks` of a drill."""

    directory: Path
    dsn: str
    faults: Sequence[str]
    sinks: Sequence[str]

    @property
    def rows(self) -> range:
        """What is in the files: one batch per fault, and one without."""
        return range((len(self.faults) + 1) * FILES_PER_BATCH * ROWS_PER_FILE)

    def run(self, settings: Mapping[str, str]) -> None:
        """Run all streams by one driver, and judge them.

        Raises:
            DriverFailedError: The driver failed.
            AssertionError: A fault did not strike, or rows are lost or duplicated.
        """
        places = [self.directory / name for name in ("files", "lake", "marks")]
        arguments = [*map(str, places), ",".join(self.faults), ",".join(self.sinks)]
        variables = {
            **environment(self.directory / "spark", settings),
            "READINGS_DSN": self.dsn,
            "SPARK_SCALA_VERSION": "2.13",  # else Spark looks for a build of itself
        }
        driver = Driver(
            [faulty_tasks.__file__, *arguments],
            environment=variables,
            directory=self.directory / "runs",
            seconds=SECONDS,
        )
        driver.run_to_end()
        for sink in self.sinks:
            marks = {path.name for path in (places[2] / sink).iterdir()}
            assert marks == set(self.faults), f"{sink}: only {marks} struck"
        judge(self)

    @property
    def answers(self) -> Sequence[Answer]:
        """What each sink's table must hold at the end."""
        return [Answer(sink=sink, after=([], self._expected(sink))) for sink in self.sinks]

    def look(self) -> Iterator[Seen]:
        """Read the table of each sink."""
        for sink in self.sinks:
            yield Seen(sink=sink, parts=None, rows=self._read(sink))

    def _expected(self, sink: str) -> list[Row]:
        if sink == "postgres_counts":
            return list(Counter(row % KEYS for row in self.rows).items())
        if sink == "delta_merged":
            return list({row % KEYS: row for row in self.rows}.items())
        return [(row,) for row in self.rows]

    def _read(self, sink: str) -> list[Row]:
        if sink.startswith("delta"):
            location = str(self.directory / "lake" / sink)
            return list(DeltaTable(open_reader(location)).read().rows)
        with psycopg.connect(self.dsn) as connection:
            return connection.execute(f"TABLE {sink}".encode()).fetchall()


def make_work(
    postgres: Postgres, directory: Path, faults: Sequence[str], *, sinks: Sequence[str]
) -> Work:
    """Write the files and make the tables that PostgreSQL needs."""
    for name in ("lake", "marks"):
        (directory / name).mkdir(parents=True)
    files = (len(faults) + 1) * FILES_PER_BATCH
    write_files(directory / "files", files=files, rows_per_file=ROWS_PER_FILE)
    dsn = postgres.create_database(f"executors_{uuid.uuid4().hex[:8]}")
    with psycopg.connect(dsn) as connection:
        for table in ("postgres_appended", "postgres_by_task"):
            connection.execute(f"CREATE TABLE {table} (id bigint)".encode())
        connection.execute("CREATE TABLE postgres_counts (id bigint PRIMARY KEY, count bigint)")
    return Work(directory=directory, dsn=dsn, faults=faults, sinks=sinks)


def local_settings(dsn: str) -> dict[str, str]:
    """Return the settings of a driver whose executors are children of its own JVM."""
    return {**executor_settings({"READINGS_DSN": dsn}), **LOCAL}


def main(names: list[str]) -> None:
    """Run the streams on both kinds of cluster, and print what became of them."""
    ensure_archive()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(scratch_directory()))
        postgres = stack.enter_context(Postgres())
        for name in names or ["local-cluster", "standalone"]:
            faults = [RAISED, KILLED]
            if name == "standalone":
                faults.append(STANDS_STILL)
            work = make_work(postgres, scratch / name, faults, sinks=list(SINKS))
            if name == "standalone":
                cluster = stack.enter_context(Cluster())
                settings = cluster.settings(executors={"READINGS_DSN": work.dsn})
                work.run({**settings, **SPECULATION})
            else:
                work.run(local_settings(work.dsn))
            told = f"{len(faults)} faults each in {len(SINKS)} sinks ({', '.join(SINKS)})"
            print(f"{name}: {told}; {len(work.rows):,} rows each, exact", flush=True)
