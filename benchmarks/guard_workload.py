"""A topic with known rows, a table to bring them to, and the judge of what is in it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import psycopg

from benchmarks import guarded_to_postgres
from benchmarks.guard_shapes import BATCHES, PARTITIONS, ROWS_PER_BATCH, Content, Shape
from holdfast.drills.kill import Point
from holdfast.proof.multiset import Difference, compare
from lab import Kafka, Postgres

SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A topic with known rows, and an empty table to bring them to."""

    kafka: Kafka
    topic: str
    dsn: str
    shape: Shape
    batches: int = BATCHES

    def program(self, root: str) -> list[str]:
        """Return the driver's program and arguments."""
        arguments = [self.kafka.address, self.topic, root, str(ROWS_PER_BATCH), self.shape.name]
        return [guarded_to_postgres.__file__, *arguments]

    def judge(self, point: Point | None) -> None:
        """Check that the table holds exactly the batches that the ledger says, and all at the end.

        Raises:
            AssertionError: It does not.
        """
        batches, content = self.read()
        difference = compare(self.shape.after(batches), content)
        assert difference.exact, f"{point}: after {batches} batches {difference}"
        wanted = self.batches + self.shape.extra_batches
        assert point is not None or batches == wanted, f"at the end: {batches} of {wanted} batches"

    def read(self) -> tuple[int, Content]:
        """Return how many batches the ledger tells of and what the table holds, in one snapshot."""
        with psycopg.connect(self.dsn) as connection:
            connection.execute(SNAPSHOT)
            content = connection.execute(self.shape.content_query.encode()).fetchall()
            return batches_told(connection), content

    def difference(self) -> Difference:
        """Compare what the table holds now with what it must hold at the end."""
        return compare(self.shape.after(self.batches + self.shape.extra_batches), self.read()[1])


def batches_told(connection: psycopg.Connection) -> int:
    """Return how many batches the ledger's history has; 0 while there is none."""
    told = connection.execute("SELECT to_regclass('holdfast.history') IS NOT NULL").fetchone()
    if not told or not told[0]:
        return 0
    counted = connection.execute("SELECT count(*) FROM holdfast.history").fetchone()
    return int(counted[0]) if counted else 0


def make_workload(
    kafka: Kafka, postgres: Postgres, shape: Shape, *, batches: int = BATCHES
) -> Workload:
    """Fill a new topic and create a new database with an empty table."""
    name = f"guard_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=PARTITIONS)
    rows = range(batches * ROWS_PER_BATCH)
    kafka.produce(name, ((row % PARTITIONS, None, str(row).encode(), 0) for row in rows))
    dsn = postgres.create_database(name)
    with psycopg.connect(dsn) as connection:
        connection.execute(f"CREATE TABLE readings ({shape.table})".encode())
    return Workload(kafka=kafka, topic=name, dsn=dsn, shape=shape, batches=batches)
