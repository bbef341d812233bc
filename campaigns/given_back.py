"""`rm -r` of the checkpoint of a running stream, and the checkpoint given back from the ledger.

    python -m campaigns.given_back [--only kafka/postgres]

A guarded stream without state runs, its checkpoint is deleted under it, it is stopped, more data
arrives. Then `holdfast plan resume`, `holdfast apply --execute`, start: the sink is compared row by
row with everything that was sent. Kafka, files and Delta as the source, PostgreSQL and Delta as the
sink, each with real servers. The exit code is 0 when all are exact.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psycopg
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.commands import holdfast
from holdfast.cli.exit_codes import ExitCode
from holdfast.plan.plan_file import decode_plan
from holdfast.proof.multiset import Difference, compare
from lab import Kafka, Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive

STREAM, DSN = "ingest", "GIVEN_BACK_DSN"
ROWS = 50
"""Of one file, one commit or one sending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One stream: its source, its sink and its root."""

    spark: SparkSession
    kafka: Kafka
    home: Path
    source: str
    sink: str
    dsn: str
    name: str
    sent: list[int] = field(default_factory=list)

    @property
    def root(self) -> Path:
        """Where checkpoint and record are."""
        return self.home / "root"

    def send(self) -> None:
        """Give the source more rows."""
        numbers = range(len(self.sent), len(self.sent) + ROWS)
        self.sent.extend(numbers)
        match self.source:
            case "kafka":
                records = ((n % 2, b"", str(n).encode(), 0) for n in numbers)
                self.kafka.produce(self.name, records)
            case "files":
                (self.home / "in").mkdir(parents=True, exist_ok=True)
                part = self.home / f"in/.{numbers[0]}.part"
                part.write_text("".join(f"{n}\n" for n in numbers))
                part.rename(self.home / f"in/{numbers[0]:06d}.csv")
            case _:
                rows = self.spark.range(numbers[0], numbers[-1] + 1, numPartitions=1)
                rows.select(F.col("id").cast("int").alias("n")).write.format("delta").mode(
                    "append"
                ).save(str(self.home / "in"))

    def read(self) -> DataFrame:
        """Return the stream."""
        reader = self.spark.readStream
        match self.source:
            case "kafka":
                options = {
                    "kafka.bootstrap.servers": self.kafka.address,
                    "subscribe": self.name,
                    "startingOffsets": "earliest",
                    "maxOffsetsPerTrigger": "20",
                }
                read = reader.format("kafka").options(**options).load()
                return read.select(F.col("value").cast("string").cast("int").alias("n"))
            case "files":
                return reader.schema("n INT").option("maxFilesPerTrigger", 1).csv(f"{self.home}/in")
            case _:
                return (
                    reader.format("delta").option("maxFilesPerTrigger", 1).load(f"{self.home}/in")
                )

    def start(self, trigger: dict[str, Any]) -> Any:
        """Start the guarded stream."""
        postgres = hf.Postgres(f"env:{DSN}", table=self.name)
        into = postgres if self.sink == "postgres" else hf.Delta(path=f"{self.home}/out")
        return hf.start(self.read(), stream=STREAM, into=into, root=str(self.root), trigger=trigger)

    def found(self) -> Iterator[int]:
        """Yield the rows of the sink."""
        if self.sink == "postgres":
            with psycopg.connect(self.dsn) as connection:
                yield from (n for (n,) in connection.execute(f"select n from {self.name}"))  # noqa: S608 # type: ignore[arg-type]
            return
        table = self.spark.read.format("delta").load(f"{self.home}/out").toArrow()
        yield from table.column("n").to_pylist()


def give_back(place: Place) -> tuple[Difference, tuple[str, ...]]:
    """Run, delete the checkpoint under the running stream, give it back, run again."""
    for _ in range(3):
        place.send()
    query = place.start({"processingTime": "200 milliseconds"})
    query.processAllAvailable()
    shutil.rmtree(place.root / STREAM)
    place.send()
    with suppress(PySparkException):  # what a query says whose checkpoint is gone
        query.processAllAvailable()
    query.stop()
    place.send()
    needed = _repair(place)
    last = place.start({"availableNow": True})
    last.awaitTermination()
    return compare(place.sent, place.found()), needed


def _repair(place: Place) -> tuple[str, ...]:
    """Plan, rehearse and apply; return what had to be allowed."""
    file = place.home / "plan.json"
    where = ("--root", str(place.root))
    code, _ = holdfast("plan", "resume", STREAM, *where, "-o", str(file))
    assert code == ExitCode.DONE, code
    plan = decode_plan(file.read_bytes(), str(file))
    for arguments in ((), ("--execute",)):
        code, _ = holdfast("apply", str(file), *arguments)
        assert code == ExitCode.DONE, code
    return plan.words


@contextmanager
def benches() -> Iterator[Callable[[str, str], Place]]:
    """Give what makes a place for each source and sink."""
    with Kafka() as kafka, Postgres() as postgres, scratch_directory() as scratch:
        dsn = os.environ[DSN] = postgres.create_database("given_back")
        spark = start_session(scratch, {})

        def make(source: str, sink: str) -> Place:
            name = f"{source}_{sink}"
            if source == "kafka":
                kafka.create_topic(name, partitions=2)
            with psycopg.connect(dsn) as connection:
                connection.execute(f"create table {name} (n int)".encode())
            home = scratch / name
            home.mkdir()
            return Place(
                spark=spark,
                kafka=kafka,
                home=home,
                source=source,
                sink=sink,
                dsn=dsn,
                name=name,
            )

        yield make
        spark.stop()


@click.command(help=__doc__)
@click.option("--only", metavar="SOURCE/SINK")
def main(*, only: str | None) -> None:
    """Run every source with every sink."""
    ensure_archive()
    bad = []
    lines = []
    with benches() as make:
        for source in ("kafka", "files", "delta"):
            for sink in ("postgres", "delta"):
                if only not in (None, f"{source}/{sink}"):
                    continue
                found, words = give_back(make(source, sink))
                is_exact = found.exact and not words
                bad += [] if is_exact else [f"{source}/{sink}"]
                lines.append(
                    f"{source:<8}{sink:<10}{found.expected:>9,}{found.missing:>9,}"
                    f"{found.duplicated:>12,}{found.foreign:>7,}   {' '.join(words) or 'nothing'}"
                )
    click.echo("source  sink       expected  missing  duplicated  wrong   had to be allowed")
    for line in lines:
        click.echo(line)
    click.echo(f"NOT exact: {', '.join(bad)}" if bad else "All exact.")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
