"""What one kill costs: a chain of 10 kills at 10 points, Kafka to PostgreSQL, on disk and on S3.

    python -m benchmarks.kill_cost

Prints CPU seconds per kill of the whole driver tree. After every death the table must hold whole
batches, each row once, as the ledger says; at the end every row exactly once.
"""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks import kafka_to_postgres
from benchmarks.chains import describe_bound
from holdfast.drills.kill import (
    Driver,
    Link,
    Named,
    Point,
    Rename,
    S3Proxy,
    S3Request,
    cpu_seconds_per_kill,
)
from holdfast.drills.kill.chain import run_chain
from holdfast.proof.multiset import Difference, compare
from lab import S3, Kafka, Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

ROWS = 12_000
ROWS_PER_BATCH = 2_000
PARTITIONS = 2
MOST_CPU_SECONDS = 15

# Batch 0 is struck after its offset entry: before it, Spark 4.1 and later leave a checkpoint that
# never starts again, which is a finding of its own and not a step of a chain.
ON_DISK: list[Point] = [
    Rename("after", "offsets/0"),
    Named("sink-called"),
    Named("sink-copied"),
    Named("sink-advanced"),
    Named("sink-committed"),
    Rename("before", "commits/0"),
    Rename("after", "commits/1"),
    Rename("before", "offsets/3"),
    Rename("after", "offsets/4"),
    Rename("before", "commits/5"),
]
ON_S3: list[Point] = [
    S3Request("after", r"/offsets/0$"),
    Named("sink-called"),
    S3Request("before", r"/commits/\.0\.[^/]*tmp$"),
    S3Request("before", r"/commits/0$"),
    S3Request("after", r"/commits/1$"),
    S3Request("before", r"/offsets/\.3\.[^/]*tmp$"),
    S3Request("before", r"/offsets/3$"),
    S3Request("after", r"/offsets/4$"),
    Named("sink-committed"),
    S3Request("before", r"/commits/5$"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A topic with known rows and an empty database to bring them to."""

    kafka: Kafka
    topic: str
    dsn: str

    def program(self, checkpoint: str) -> list[str]:
        """Return the driver's program and arguments for a checkpoint."""
        arguments = [self.kafka.address, self.topic, self.dsn, checkpoint, str(ROWS_PER_BATCH)]
        return [kafka_to_postgres.__file__, *arguments]

    def judge(self, point: Point | None) -> None:
        """Check that the table holds exactly the batches the ledger says, and all at the end."""
        with psycopg.connect(self.dsn) as connection:
            found = connection.execute("select id, batch from readings").fetchall()
            (last,) = connection.execute("select last_batch from ledger").fetchone() or (-1,)
        batches = {batch for _, batch in found}
        assert batches == set(range(last + 1)), f"{point}: ledger at {last}, batches {batches}"
        assert len(found) == ROWS_PER_BATCH * (last + 1), f"{point}: a batch is there in part"
        difference = compare(range(ROWS), (row for row, _ in found))
        assert (difference.doubled, difference.foreign) == (0, 0), f"{point}: {difference}"
        assert point is not None or difference.exact, f"at the end: {difference}"

    def difference(self) -> Difference:
        """Compare what the table holds now with everything that was sent."""
        with psycopg.connect(self.dsn) as connection:
            found = connection.execute("select id from readings").fetchall()
        return compare(range(ROWS), (row for (row,) in found))


def make_workload(kafka: Kafka, postgres: Postgres) -> Workload:
    """Fill a new topic and create a new database."""
    name = f"kills_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=PARTITIONS)
    kafka.produce(name, ((row % PARTITIONS, None, str(row).encode(), 0) for row in range(ROWS)))
    dsn = postgres.create_database(name)
    with psycopg.connect(dsn) as connection:
        connection.execute(kafka_to_postgres.TABLES)
    return Workload(kafka=kafka, topic=name, dsn=dsn)


def chain_on_disk(work: Workload, directory: Path, points: list[Point]) -> list[Link]:
    """Run the chain with the checkpoint on local disk."""
    driver = Driver(
        work.program(str(directory / "checkpoint")),
        environment=environment(directory, {}),
        directory=directory / "runs",
    )
    return run_chain(driver, points, judge=work.judge)


def chain_on_s3(work: Workload, directory: Path, points: list[Point], *, s3: S3) -> list[Link]:
    """Run the chain with the checkpoint on S3, every request by way of the proxy."""
    with S3Proxy(s3.port) as proxy:
        driver = Driver(
            work.program(f"s3a://lake/{work.topic}"),
            environment=environment(directory, s3.spark_settings(port=proxy.port)),
            directory=directory / "runs",
            s3_proxy=proxy,
        )
        return run_chain(driver, points, judge=work.judge)


def main() -> None:
    """Run both chains, print what they cost, and fail when a kill costs too much."""
    ensure_archive()
    with Kafka() as kafka, Postgres() as postgres, S3() as s3, scratch_directory() as scratch:
        work = make_workload(kafka, postgres)
        disk = chain_on_disk(work, scratch / "disk", ON_DISK)
        print_chain("checkpoint on local disk", disk, work.difference())
        work = make_workload(kafka, postgres)
        store = chain_on_s3(work, scratch / "s3", ON_S3, s3=s3)
        print_chain("checkpoint on S3, through the proxy", store, work.difference())
    kills = len(ON_DISK) + len(ON_S3)
    print(describe_bound(kills))
    if max(map(cpu_seconds_per_kill, (disk, store))) > MOST_CPU_SECONDS:
        sys.exit(f"A kill costs more than {MOST_CPU_SECONDS} CPU seconds.")


def print_chain(title: str, links: list[Link], found: Difference) -> None:
    """Print the cost per kill with what was lost and doubled, then one line per run."""
    print(
        f"{title}: {cpu_seconds_per_kill(links):.1f} CPU s per kill, {len(links) - 1} kills, "
        f"{found.missing} lost, {found.doubled} doubled"
    )
    for link in links:
        point = "ran to its end" if link.point is None else str(link.point)
        print(f"  {point:<42}{link.ended.cpu_seconds:6.1f} CPU s{link.ended.wall_seconds:7.1f} s")


if __name__ == "__main__":
    main()
