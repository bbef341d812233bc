"""A topic with known rows, a table to write them to, and what that must hold after each batch."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg

from campaigns.streams import guarded_to_postgres
from campaigns.streams.postgres_shapes import BATCHES, PARTITIONS, ROWS_PER_BATCH, Shape, measure_of
from holdfast.drills.drill import Answer, Seen
from lab import Kafka, Postgres

TABLE, COUNTED = "readings", "readings, counted and summed"
"""The table, whole and as a reader beside the stream looks at it: again and again, and cheaply."""
READER = "holdfast-lab-reader"
"""The name of the reader's session; what kills sessions spares it."""
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A topic with known rows, and an empty table to write them to; `Sinks` of a drill."""

    kafka: Kafka
    topic: str
    dsn: str
    shape: Shape
    batches: int = BATCHES

    def program(self, root: str) -> list[str]:
        """Return the driver's program and arguments."""
        arguments = [self.kafka.address, self.topic, root, str(ROWS_PER_BATCH), self.shape.name]
        return [guarded_to_postgres.__file__, *arguments]

    @property
    def answers(self) -> Sequence[Answer]:
        """What the table must hold after each batch."""
        told = range(self.batches + self.shape.extra_batches + 1)
        return [
            Answer(sink=TABLE, after=[self.shape.after(each) for each in told]),
            Answer(sink=COUNTED, after=[[self.shape.measure(each)] for each in told]),
        ]

    def look(self) -> Iterator[Seen]:
        """Read the table, with what the ledger tells, in one snapshot."""
        with psycopg.connect(self.dsn) as connection:
            connection.execute(SNAPSHOT)
            content = connection.execute(self.shape.content_query.encode()).fetchall()
            parts = batches_told(connection)
        yield Seen(sink=TABLE, parts=parts, rows=content)
        yield Seen(sink=COUNTED, parts=parts, rows=[measure_of(content)])

    def count(self, dsn: str | None = None) -> Iterator[Seen]:
        """Count and sum the table, with what the ledger tells; nothing while the server is gone.

        Args:
            dsn: Another way to the database, such as through a pool.
        """
        through = f"{dsn or self.dsn} application_name={READER} connect_timeout=5"
        try:
            with psycopg.connect(through, prepare_threshold=None) as connection:
                connection.execute(SNAPSHOT)
                found = connection.execute(self.shape.measure_query.encode()).fetchall()
                parts = batches_told(connection)
        except psycopg.OperationalError:  # the campaign has killed it
            return
        yield Seen(sink=COUNTED, parts=parts, rows=found)


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
        table = f"({shape.table}){shape.after_columns}"
        connection.execute(f"CREATE TABLE readings {table}".encode())
    return Workload(kafka=kafka, topic=name, dsn=dsn, shape=shape, batches=batches)
