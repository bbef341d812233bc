"""A stream that began at the end of a topic with records: what a backfill fills."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.streams.backfill.prepare import BackfillProgress
from lab import Kafka
from tests.spark.backfill_pipeline import STREAM, pipeline

WAIT_S = 60


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that a running stream does."""
    limit = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.05)


@dataclass(frozen=True)
class Backfilling:
    """A range that is planned, or written."""

    pipeline: hf.Pipeline
    spark: SparkSession
    stream: str
    asked: dict[str, Any]

    def plan(self) -> hf.Plan | hf.NoPlan:
        return hf.plan_backfill(self.pipeline, self.spark, self.stream, **self.asked)

    def planned(self) -> hf.Plan:
        found = self.plan()
        assert isinstance(found, hf.Plan), found
        return found

    def run(self, **given: Any) -> BackfillProgress:
        return hf.backfill(self.pipeline, self.spark, self.stream, **given, **self.asked)


@dataclass(kw_only=True)
class Gap:
    """A stream that began at the end of a topic with records."""

    spark: SparkSession
    kafka: Kafka
    dsn: str
    place: Path
    topic: str
    merges: bool = False

    @property
    def config(self) -> dict[str, Any]:
        return {
            "servers": self.kafka.address,
            "topic": self.topic,
            "root": str(self.place / "streams"),
            "delta": str(self.place / "table"),
            "merges": self.merges,
        }

    def produce(self, numbers: range) -> None:
        sent = ((number % 2, b"k", str(number).encode(), 0) for number in numbers)
        self.kafka.produce(self.topic, sent)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the stream; it has begun when this is entered."""
        query = pipeline(self.config).start(self.spark)[STREAM]
        try:
            until((self.place / "streams" / STREAM / "sources/0/0").exists)
            yield
        finally:
            query.stop()
        assert query.exception() is None

    def began(self, numbers: range, later: range) -> None:
        """Fill the topic, begin the stream after that, and let it read what comes later."""
        self.produce(numbers)
        with self.running():
            self.produce(later)
            self.wait_for(later[-1])

    def wait_for(self, number: int) -> None:
        """Wait for the last number of each partition: a batch may hold one of them."""
        last = {number - 1, number}
        until(lambda: last <= self.in_postgres().keys() and last <= self.in_delta().keys())

    def backfill(self, start: Any, end: Any, chunk: int | None = None) -> Backfilling:
        asked = {"start": start, "end": end, "chunk": chunk}
        return Backfilling(pipeline(self.config), self.spark, STREAM, asked)

    def in_delta(self) -> Counter[int]:
        table = self.spark.read.format("delta").load(str(self.place / "table"))
        return Counter(row.number for row in table.collect())

    def in_postgres(self) -> Counter[int]:
        with psycopg.connect(self.dsn) as connection:
            return Counter(n for (n,) in connection.execute("SELECT number FROM readings"))

    def offsets(self, first: int, second: int) -> dict[str, Any]:
        return {self.topic: {"0": first, "1": second}}

    def leases(self) -> list[str]:
        """The leases of the stream itself: a start of it takes another one."""
        return sorted(each.name for each in self.place.glob("streams/_holdfast/*/leases/*"))
