"""A stream of files into a table of PostgreSQL, one file per batch."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import DataFrame, SparkSession

from holdfast import points
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.streams.heartbeat import THREAD
from holdfast.streams.start import start
from tests.spark.unchanged import unchanged_when_refused

TIME = 1_700_000_000


@dataclass
class Stream:
    """A stream of files into a table, one file per batch."""

    spark: SparkSession
    root: Path
    files: Path
    dsn: str

    def add(self, number: int) -> None:
        path = self.files / f"f{number:03}"
        path.write_text(f"row {number}\n")
        os.utime(path, (TIME + number, TIME + number))  # read in this order

    @property
    def source(self) -> DataFrame:
        reader = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self.files))

    @property
    def checkpoint(self) -> Path:
        return self.root / "readings"

    def sink(self, **more: Any) -> PostgresSink:
        return PostgresSink(lambda: self.dsn, table="readings", **more)

    def start(self, **more: Any) -> Any:
        given = {"stream": "readings", "into": self.sink(), "trigger": {"availableNow": True}}
        df = more.pop("df", None) or self.source
        with unchanged_when_refused(self.root, dsn=self.dsn):
            return start(df, root=str(self.root), **{**given, **more})

    def run(self, **more: Any) -> None:
        try:
            self.start(**more).awaitTermination()
        finally:
            wait_until_given_up()

    def run_unguarded(self, checkpoint: Path) -> None:
        """As before Holdfast: Spark's own writer, appending."""
        writer = self.source.writeStream.foreachBatch(self._append)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query.start().awaitTermination()

    def _append(self, batch: DataFrame, _: int) -> None:
        with psycopg.connect(self.dsn) as connection:
            rows = [(row.value,) for row in batch.collect()]
            connection.cursor().executemany("INSERT INTO readings VALUES (%s)", rows)

    def rows(self) -> list[str]:
        with psycopg.connect(self.dsn) as connection:
            return [row[0] for row in connection.execute("SELECT value FROM readings ORDER BY 1")]

    def ids(self) -> Counter[int]:
        """Return the numbers of a table of numbers, and how often each is there."""
        with psycopg.connect(self.dsn) as connection:
            return Counter(row[0] for row in connection.execute("SELECT id FROM readings"))

    @contextmanager
    def stopped_at(self, point: str) -> Iterator[None]:
        """Start it and stop it while its batch stands at a point; afterwards the batch goes on."""
        self.spark = self.spark.newSession()
        self.spark.conf.set("spark.sql.streaming.stopTimeout", "1s")
        inside, go_on = threading.Event(), threading.Event()

        def wait(reached: str) -> None:
            if reached == point:
                inside.set()
                go_on.wait(60)

        points.listen(wait)
        try:
            query = self.start()
            assert inside.wait(60)
            with pytest.raises(Exception, match="stop"):  # it did not stop in time
                query.stop()
            yield
        finally:
            points.listen(None)
            go_on.set()
        wait_until_given_up()

    def execute(self, statement: str) -> None:
        with psycopg.connect(self.dsn) as connection:
            connection.execute(statement.encode())


def wait_until_given_up() -> None:
    """Wait until every renewer of this process has written down how its query ended."""
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(60)


def remove(path: Path) -> None:
    """Delete an entry with its checksums."""
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
