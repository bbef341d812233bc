"""A topic with known rows, a table to write them to, and what that must hold after each batch."""

from __future__ import annotations

import uuid
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from campaigns.database_kills.places import Database
from campaigns.streams import guarded_to_database
from campaigns.streams.postgres_shapes import (
    APPENDED,
    BATCHES,
    COUNTS,
    MERGED,
    PARTITIONS,
    ROWS_PER_BATCH,
    Shape,
)
from holdfast.drills.drill import Answer, Seen
from lab import Kafka

SHAPES: dict[str, Shape] = {each.name: each for each in (APPENDED, MERGED, COUNTS)}
TABLES = {
    "appended": "id bigint, `offset` bigint",
    "merged": "id bigint PRIMARY KEY, `offset` bigint",
    "counts": "`key` bigint PRIMARY KEY, `count` bigint",
}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A topic with known rows, and an empty table to write them to; `Sinks` of a drill."""

    kafka: Kafka
    topic: str
    database: Database
    shape: str
    batches: int = BATCHES

    def program(self, root: str) -> list[str]:
        """Return the driver's program and arguments."""
        arguments = [self.kafka.address, self.topic, root, str(ROWS_PER_BATCH), self.shape]
        return [guarded_to_database.__file__, *arguments]

    @cached_property
    def answers(self) -> Sequence[Answer]:
        """What the table must hold after each batch."""
        after = SHAPES[self.shape].after
        return [Answer(sink="readings", after=[after(each) for each in range(self.batches + 1)])]

    def look(self) -> Iterator[Seen]:
        """Read the table with what the ledger tells, as of one moment."""
        rows, told = self.database.rows_and_batches()
        yield Seen(sink="readings", parts=told, rows=rows)

    def watch(self) -> Iterator[Seen]:
        """Read the table alone; it must hold some number of complete batches."""
        rows = self.database.rows()
        shape = SHAPES[self.shape]
        sums = [shape.measure(each)[1] for each in range(self.batches + 1)]
        parts = bisect_right(sums, sum(int(value) for _, value in rows)) - 1
        yield Seen(sink="readings", parts=parts, rows=rows)


def make_workload(
    kafka: Kafka, database: Database, *, shape: str, batches: int = BATCHES
) -> Workload:
    """Fill a new topic for a database whose table is empty."""
    topic = f"guard_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, partitions=PARTITIONS)
    rows = range(batches * ROWS_PER_BATCH)
    kafka.produce(topic, ((row % PARTITIONS, None, str(row).encode(), 0) for row in rows))
    return Workload(kafka=kafka, topic=topic, database=database, shape=shape, batches=batches)
