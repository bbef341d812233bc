"""Kills between every two steps of a guarded stream, Kafka to PostgreSQL, appended and merged.

    python -m benchmarks.guard_kills

Each chain strikes the guard (G1 to G6), Spark's own entries and the sink (S1 to S7), and the
recovery from each of these. After every death the table holds whole batches, as the ledger says;
at the end every row exactly once.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks import guarded_to_postgres
from lab import Kafka, Postgres
from lab.kill import Driver, Link, Named, Point, Rename, cpu_seconds_per_kill
from lab.kill.chain import run_chain
from lab.multiset import Difference, compare
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

ROWS = 8_000
ROWS_PER_BATCH = 1_000
PARTITIONS = 2

POINTS: list[Point] = [
    Named("G1"),
    Named("G2"),
    Named("G3"),
    Named("G5"),
    Rename("before", "offsets/0"),  # bare Spark never starts again after this one
    Named("orphan-copied"),
    Rename("after", "offsets/0"),
    Named("S1"),
    Named("S2"),
    Named("S3"),
    Named("S4"),
    Named("S5"),
    Named("S6"),
    Named("S7"),  # of the replay, which is skipped
    Rename("before", "commits/0"),
    Rename("after", "commits/0"),
    Rename("before", "offsets/1"),
    Rename("after", "offsets/1"),
    Named("S4"),
    Named("S6"),
    Named("S7"),
    Rename("before", "commits/2"),
    Named("S5", nth=2),
    Named("S6", nth=2),
    Rename("after", "commits/5"),
    Named("G6"),  # the query runs beside it: last, because nothing may depend on how far it came
]
"""In the order of a life, so that most runs recover from the one before and die in that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A topic with known rows, and an empty table to bring them to."""

    kafka: Kafka
    topic: str
    dsn: str
    keyed: bool

    def program(self, root: Path) -> list[str]:
        """Return the driver's program and arguments."""
        how = "keyed" if self.keyed else "append"
        arguments = [self.kafka.address, self.topic, str(root), str(ROWS_PER_BATCH), how]
        return [guarded_to_postgres.__file__, *arguments]

    def judge(self, point: Point | None) -> None:
        """Check that the table holds exactly the batches that the ledger says."""
        with psycopg.connect(self.dsn) as connection:
            found = [row for (row,) in connection.execute("SELECT id FROM readings")]
            told = connection.execute("SELECT to_regclass('holdfast.history')").fetchone()
            written = 0
            if told and told[0]:
                (written,) = connection.execute(
                    "SELECT coalesce(sum(rows), 0) FROM holdfast.history"
                ).fetchone() or (0,)
        difference = compare(range(ROWS), found)
        assert (difference.doubled, difference.foreign) == (0, 0), f"{point}: {difference}"
        assert len(found) == written, f"{point}: {len(found)} rows, the ledger says {written}"
        assert point is not None or difference.exact, f"at the end: {difference}"


def make_workload(kafka: Kafka, postgres: Postgres, *, keyed: bool) -> Workload:
    """Fill a new topic and create a new database with an empty table."""
    name = f"guard_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=PARTITIONS)
    kafka.produce(name, ((row % PARTITIONS, None, str(row).encode(), 0) for row in range(ROWS)))
    dsn = postgres.create_database(name)
    key = ", PRIMARY KEY (id)" if keyed else ""
    with psycopg.connect(dsn) as connection:
        connection.execute(f'CREATE TABLE readings (id bigint, "offset" bigint{key})'.encode())
    return Workload(kafka=kafka, topic=name, dsn=dsn, keyed=keyed)


def kill_all(work: Workload, directory: Path, points: list[Point]) -> list[Link]:
    """Run a chain with checkpoint and record on local disk."""
    settings = {**environment(directory, {}), "READINGS_DSN": work.dsn}
    root = directory / "streams"
    driver = Driver(work.program(root), environment=settings, directory=directory / "runs")
    return run_chain(driver, points, judge=work.judge)


def main() -> None:
    """Run both chains and print what was lost and doubled."""
    ensure_archive()
    kills = 0
    with Kafka() as kafka, Postgres() as postgres, scratch_directory() as scratch:
        for keyed in (False, True):
            work = make_workload(kafka, postgres, keyed=keyed)
            links = kill_all(work, scratch / ("merge" if keyed else "append"), POINTS)
            kills += len(links) - 1
            print(
                f"{'merged by key' if keyed else 'appended'}: {len(links) - 1} kills, "
                f"{_told(work)}, {cpu_seconds_per_kill(links):.1f} CPU s per kill"
            )
    print(f"No failure in {kills} kills: at 95 % fewer than {3 / kills:.1%} of kills fail (3/n).")


def _told(work: Workload) -> str:
    with psycopg.connect(work.dsn) as connection:
        found = [row for (row,) in connection.execute("SELECT id FROM readings")]
    difference: Difference = compare(range(ROWS), found)
    return f"{difference.missing} lost, {difference.doubled} doubled"


if __name__ == "__main__":
    main()
