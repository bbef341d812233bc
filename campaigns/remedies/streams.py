"""Real streams that are damaged and repaired: guarded ones into a table, and a bare one."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import DataFrame

import holdfast as hf
from campaigns.remedies.remedy import Bench, CarriedOut, diagnosed, plan_and_apply
from holdfast.proof.multiset import compare
from holdfast.streams.heartbeat import THREAD

FIRST_FILE_TIME = 1_700_000_000
DSN = "HOLDFAST_REMEDIES_DSN"
STREAM = "readings"
TABLES = (
    "CREATE TABLE readings (value text); CREATE TABLE totals (value text PRIMARY KEY, n bigint)"
)
Row = tuple[Hashable, ...]


@dataclass
class FileStream:
    """A guarded stream of files, one file a batch, into a table of PostgreSQL."""

    bench: Bench
    files: int = 0
    dsn: str = field(init=False)

    def __post_init__(self) -> None:
        """Create the tables."""
        self.dsn = self.bench.database()
        os.environ[DSN] = self.dsn
        self.execute(TABLES)
        self.inputs.mkdir()

    @property
    def inputs(self) -> Path:
        """Where its input is."""
        return self.bench.place / "in"

    @property
    def root(self) -> Path:
        """Of its checkpoint and record."""
        return self.bench.place / "streams"

    @property
    def checkpoint(self) -> Path:
        """Of its first generation."""
        return self.root / STREAM

    @property
    def looks(self) -> list[str]:
        """What `holdfast diagnose` is asked."""
        return [STREAM, "--root", str(self.root)]

    def add(self, count: int) -> None:
        """Add input files."""
        for _ in range(count):
            path = self.inputs / f"{self.files:03}"
            path.write_text(f"row {self.files}\n")
            at = FIRST_FILE_TIME + self.files  # Spark reads them in this order
            os.utime(path, (at, at))
            self.files += 1

    def frame(self) -> DataFrame:
        """Return the query."""
        reader = self.bench.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self.inputs))

    def sink(self) -> Any:
        """Return where it writes."""
        return hf.Postgres(f"env:{DSN}", table="readings")

    def start_options(self) -> dict[str, Any]:
        """Return what else the start says."""
        return {}

    def run(self) -> None:
        """Run until everything is read, and until the lease is released."""
        query = hf.start(
            self.frame(),
            stream=STREAM,
            root=str(self.root),
            into=self.sink(),
            trigger={"availableNow": True},
            **self.start_options(),
        )
        try:
            query.awaitTermination()
        finally:
            for thread in threading.enumerate():
                if thread.name == THREAD:
                    thread.join(60)

    def rows(self) -> list[Row]:
        """Return what the sink holds."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute("SELECT value FROM readings").fetchall()

    def expected(self) -> Iterable[Row]:
        """Return what the sink must hold."""
        return [(f"row {number}",) for number in range(self.files)]

    def execute(self, statements: str) -> None:
        """Change the database behind its back."""
        with psycopg.connect(self.dsn) as connection:
            connection.execute(statements.encode())

    def repair(
        self,
        code: str,
        *,
        goal: str = "",
        command: str | None = None,
        before_start: Callable[[], None] = lambda: None,
    ) -> CarriedOut:
        """Run what the finding prints, add input, start Spark again, and compare."""
        printed = command or diagnosed(self.looks, code, goal=goal)
        plan = plan_and_apply(printed, self.bench.place)
        before_start()
        self.add(2)
        self.run()
        seen = compare(self.expected(), self.rows())
        return CarriedOut(command=printed, plan=plan, difference=seen)


@dataclass
class TotalsStream(FileStream):
    """The same with state: totals by value, upserted."""

    def add(self, count: int) -> None:
        """Add input files; the values of the first come again, so that totals grow."""
        super().add(count)
        for number in range(self.files - count, self.files):
            path = self.inputs / f"{number:03}"
            path.write_text(f"row {number % 3}\n")
            os.utime(path, (FIRST_FILE_TIME + number, FIRST_FILE_TIME + number))

    def frame(self) -> DataFrame:
        """Return the query."""
        return super().frame().groupBy("value").count().withColumnRenamed("count", "n")

    def sink(self) -> Any:
        """Return where it writes."""
        return hf.Postgres(f"env:{DSN}", table="totals", keys=["value"])

    def start_options(self) -> dict[str, Any]:
        """Return what else the start says."""
        return {"outputMode": "update"}

    def rows(self) -> list[Row]:
        """Return what the sink holds."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute("SELECT value, n FROM totals").fetchall()

    def expected(self) -> Iterable[Row]:
        """Return what the sink must hold."""
        values = [number % 3 for number in range(self.files)]
        return [(f"row {each}", values.count(each)) for each in sorted(set(values))]


@dataclass
class DeltaStream(FileStream):
    """The same into a Delta table."""

    @property
    def table(self) -> str:
        """Where the table is."""
        return str(self.bench.place / "table")

    @property
    def looks(self) -> list[str]:
        """What `holdfast diagnose` is asked."""
        return [*super().looks, "--sink", self.table]

    def sink(self) -> Any:
        """Return where it writes."""
        return hf.Delta(path=self.table)

    def rows(self) -> list[Row]:
        """Return what the sink holds."""
        return [
            tuple(row) for row in self.bench.spark.read.format("delta").load(self.table).collect()
        ]


@dataclass
class FunctionStream(DeltaStream):
    """The same by a function for foreachBatch, which names its transactions as Delta advises."""

    application: str = STREAM

    def rename(self) -> None:
        """Name its transactions otherwise from now on, as the finding says."""
        self.application = f"{STREAM}-again"

    def sink(self) -> Any:
        """Return where it writes."""

        def append(batch: DataFrame, number: int) -> None:
            writer = batch.write.format("delta").mode("append")
            named = writer.option("txnAppId", self.application).option("txnVersion", number)
            named.save(self.table)

        return hf.ForeachBatch(append)


def copy_checkpoint(stream: FileStream) -> Path:
    """Keep a copy of a checkpoint, and return where."""
    kept = stream.bench.place / "kept"
    shutil.copytree(stream.checkpoint, kept)
    return kept


def delete(checkpoint: Path, *paths: str) -> None:
    """Delete entries with their checksums."""
    for each in paths:
        path = checkpoint / each
        path.unlink()
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def cut_off(checkpoint: Path, path: str) -> None:
    """Empty a file, as a full disk leaves it."""
    delete(checkpoint, path)
    (checkpoint / path).write_bytes(b"")


def edit(checkpoint: Path, path: str, *, old: str, new: str) -> None:
    """Change a file as an editor does: its old checksums are gone."""
    text = (checkpoint / path).read_text()
    assert old in text, text
    delete(checkpoint, path)
    (checkpoint / path).write_text(text.replace(old, new))
