"""What a batch into Iceberg takes by Holdfast's writer, beside the bare write, in turns.

    python -m benchmarks.iceberg_cost [--turns N] [--spark 4.1] [--only small|large|merge]

Runs in the Python of a Spark that has Iceberg, on a JDBC catalog in PostgreSQL with files on disk.
`sink_growth` measures how that grows with the snapshots behind it. The lease, the contract and the
events of a stream are not in it: they cost the same for every sink (`guard_cost`).
"""

from __future__ import annotations

import os
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.ledger import Apply
from holdfast.testing.sink_batches import Batches
from lab import Postgres
from lab.iceberg import RUNTIMES, iceberg_installation, jdbc_catalog, run_iceberg
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.versions import OWN_VERSION

SMALL, LARGE, MERGED, THERE = 100, 1_000_000, 10_000, 100_000
WAYS = ("bare", "Holdfast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A session with the catalog `ice`."""

    spark: SparkSession
    turns: int

    def rows(self, count: int, number: int) -> DataFrame:
        """Return the rows of a batch."""
        found = self.spark.range(number * count, (number + 1) * count, 1, 2)
        return found.selectExpr("id", "concat('row-', id) AS name")

    def compare(self, name: str, *, count: int, is_merge: bool = False) -> None:
        """Write batches both ways in turns, and print what they took."""
        ways = {way: self._way(way, is_merge=is_merge) for way in WAYS}
        took: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(self.turns + 1):
            for way, write in ways.items():
                number = turn % (THERE // MERGED) if is_merge else turn
                began = time.perf_counter()
                write(self.rows(count, number), turn)
                took[way].append(time.perf_counter() - began)
        medians = {way: statistics.median(times[1:]) * 1e3 for way, times in took.items()}
        ratios = [mine / bare for bare, mine in zip(*(took[way][1:] for way in WAYS), strict=True)]
        told = ", ".join(f"{way} {median:,.0f} ms" for way, median in medians.items())
        print(f"{name}: {told}, ratio {statistics.median(ratios):.2f}", flush=True)

    def _way(self, way: str, *, is_merge: bool) -> Callable[[DataFrame, int], Any]:
        table = f"ice.db.t_{uuid.uuid4().hex[:12]}"
        if is_merge:
            self.rows(THERE, 0).writeTo(table).using("iceberg").create()
        else:
            self.spark.sql(f"CREATE TABLE {table} (id bigint, name string) USING iceberg")
        if way == "Holdfast":
            return self._guarded(table, is_merge=is_merge)
        return self._merged(table) if is_merge else lambda rows, _: rows.writeTo(table).append()

    def _merged(self, table: str) -> Callable[[DataFrame, int], Any]:
        def write(rows: DataFrame, _: int) -> None:
            rows.createOrReplaceTempView("batch")
            self.spark.sql(
                f"MERGE INTO {table} t USING batch s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )

        return write

    def _guarded(self, table: str, *, is_merge: bool) -> Callable[[DataFrame, int], Any]:
        keyed: dict[str, Any] = {"keys": ["id"], "sequence_by": "name"} if is_merge else {}
        sink, batches = hf.Iceberg(table=table, **keyed), Batches(self.spark)
        writer = batches.start(sink)
        assert writer.ledger is not None
        assert writer.ledger.replace(None, batches.row(writer))

        def write(rows: DataFrame, number: int) -> None:
            assert writer.write(batches.attempt(writer, number), rows) == Apply()

        return write


def run(bench: Bench, only: str | None) -> None:
    """Run what is asked for, or all."""
    if only in (None, "small"):
        bench.compare(f"append of {SMALL} rows", count=SMALL)
    if only in (None, "large"):
        bench.compare(f"append of {LARGE:,} rows", count=LARGE)
    if only in (None, "merge"):
        bench.compare(f"MERGE of {MERGED:,} rows into {THERE:,}", count=MERGED, is_merge=True)


@click.command(help=__doc__)
@click.option("--turns", default=20, show_default=True)
@click.option("--only", type=click.Choice(["small", "large", "merge"]))
@click.option("--spark", default="4.1", show_default=True, type=click.Choice(list(RUNTIMES)))
def main(*, turns: int, only: str | None, spark: str) -> None:
    """Measure."""
    if spark != OWN_VERSION:
        words = ["--turns", str(turns), "--spark", spark, *(["--only", only] if only else [])]
        sys.exit(run_iceberg("benchmarks.iceberg_cost", words, version=spark))
    with Postgres() as postgres, scratch_directory() as scratch:
        session = _session(postgres, scratch)
        session.sql("CREATE NAMESPACE ice.db")
        run(Bench(spark=session, turns=turns), only)
        session.stop()


def _session(postgres: Postgres, scratch: Path) -> SparkSession:
    postgres.create_database("ice")
    settings = jdbc_catalog(postgres, "ice", scratch / "warehouse")
    installation = iceberg_installation(OWN_VERSION)
    os.environ.update(
        environment(scratch, settings, jvm=(), log_level="error", installation=installation)
    )
    return SparkSession.builder.getOrCreate()


if __name__ == "__main__":
    main()
