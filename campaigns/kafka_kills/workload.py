"""A topic with known rows, a topic to write them to, and what that must hold after each batch."""

from __future__ import annotations

import json
import uuid
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from campaigns.streams import guarded_to_kafka
from campaigns.streams.guarded_to_kafka import STREAM, output_of
from campaigns.streams.postgres_shapes import BATCHES, PARTITIONS, ROWS_PER_BATCH
from holdfast.drills.drill import Answer, Seen
from holdfast.drills.history import Row
from lab import Kafka
from lab.topics import read_topic

Records = list[tuple[str, str]]
"""Key and value of records."""


def appended(batch: int) -> Records:
    """Return what one batch of the shape brings."""
    rows = range(batch * ROWS_PER_BATCH, (batch + 1) * ROWS_PER_BATCH)
    return [(str(row), str(row)) for row in rows]


def counts(batch: int) -> Records:
    """Return what one batch of the shape brings: the new count of every key that came."""
    before = Counter(row * row % 97 for row in range(batch * ROWS_PER_BATCH))
    rows = range(batch * ROWS_PER_BATCH, (batch + 1) * ROWS_PER_BATCH)
    new = Counter(row * row % 97 for row in rows)
    return [(str(key), str(before[key] + count)) for key, count in new.items()]


SHAPES: dict[str, Callable[[int], Records]] = {"appended": appended, "counts": counts}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A topic with known rows, and an empty topic to write them to; `Sinks` of a drill.

    Kafka shows a transaction in one partition after the other, so each partition is judged as a
    sink of its own: it holds complete batches at every moment.
    """

    kafka: Kafka
    topic: str
    shape: str
    batches: int = BATCHES

    def program(self, root: str) -> list[str]:
        """Return the driver's program and arguments."""
        arguments = [self.kafka.address, self.topic, root, str(ROWS_PER_BATCH), self.shape]
        return [guarded_to_kafka.__file__, *arguments]

    @cached_property
    def _after(self) -> dict[int, list[list[Row]]]:
        """Of each partition, its records after each number of batches."""
        found: dict[int, list[list[Row]]] = {each: [[]] for each in range(PARTITIONS)}
        for batch in range(self.batches):
            records = SHAPES[self.shape](batch)
            for partition, after in found.items():
                here = [each for each in records if int(each[0]) % PARTITIONS == partition]
                after.append([*after[-1], *here])
        return found

    @property
    def answers(self) -> Sequence[Answer]:
        """What each partition must hold after each batch."""
        return [Answer(sink=_name(each), after=after) for each, after in self._after.items()]

    def look(self) -> Iterator[Seen]:
        """Read the topic with what the ledger tells, while neither changes."""
        while True:
            told, rows = self._batches_told(), self._rows()
            if told == self._batches_told() and rows == self._rows():
                break
        for partition, found in rows.items():
            yield Seen(sink=_name(partition), parts=told, rows=found)

    def watch(self) -> Iterator[Seen]:
        """Read the topic alone; each partition must hold some number of complete batches."""
        for partition, found in self._rows().items():
            sizes = [len(each) for each in self._after[partition]]
            parts = bisect_right(sizes, len(found)) - 1
            yield Seen(sink=_name(partition), parts=parts, rows=found)

    def _rows(self) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {each: [] for each in range(PARTITIONS)}
        for partition, key, value in read_topic(self.kafka.address, output_of(self.topic)):
            found[partition].append(((key or b"").decode(), (value or b"").decode()))
        return found

    def _batches_told(self) -> int:
        ledger = f"holdfast.{STREAM}.{output_of(self.topic)}"
        records = read_topic(self.kafka.address, ledger)
        return int(json.loads(records[-1][2] or b"{}")["last_batch"]) + 1 if records else 0


def _name(partition: int) -> str:
    return f"partition {partition}"


def make_workload(kafka: Kafka, shape: str, *, batches: int = BATCHES) -> Workload:
    """Fill a new topic and create an empty one."""
    name = f"guard_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, partitions=PARTITIONS)
    kafka.create_topic(output_of(name), partitions=PARTITIONS)
    rows = range(batches * ROWS_PER_BATCH)
    kafka.produce(name, ((row % PARTITIONS, None, str(row).encode(), 0) for row in rows))
    return Workload(kafka=kafka, topic=name, shape=shape, batches=batches)
