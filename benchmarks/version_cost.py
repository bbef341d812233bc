"""What a guarded batch costs on each version of Spark, beside that version's own foreachBatch.

    python -m benchmarks.version_cost [--spark V] [--turns N]

A stream of Parquet files goes into PostgreSQL, one file per batch: with the guard, exactly once;
and with a bare foreachBatch and Spark's JDBC writer, which repeats a batch after a kill. Both take
turns in one JVM; the time of a batch is Spark's own `triggerExecution`. The first batches and the
first turn of each are not counted, and every table is held against the rows that were given.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks import version_batches
from benchmarks.measuring import spread
from benchmarks.pairs import compare_medians
from holdfast.cli.table import columns
from holdfast.spark_versions import SUPPORTED
from lab import Postgres
from lab.jars import fetch_jars
from lab.scratch import scratch_directory
from lab.spark import Installation, environment
from lab.versions import REPOSITORY, installation_of
from lab.warm_up import ensure_archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many rows a batch has, and how many batches one turn."""

    rows: int
    batches: int


SIZES = (Size(rows=100, batches=12), Size(rows=200_000, batches=5))


def run_batches(
    installation: Installation, size: Size, *, postgres: Postgres, name: str, turns: int
) -> dict[str, list[float]]:
    """Return the milliseconds of every batch, guarded and bare."""
    jar = next(jar for jar in fetch_jars("spark") if jar.name.startswith("postgresql-"))
    dsn = postgres.create_database(name)
    with scratch_directory() as directory:
        variables = {
            **environment(
                directory / "spark",
                {"spark.jars": str(jar)},
                jvm=(),
                log_level="error",
                installation=installation,
            ),
            "PYTHONPATH": str(REPOSITORY / "src"),
        }
        given = (dsn, postgres.jdbc_url(name), directory, size.rows, size.batches, turns)
        command = [str(installation.python), str(Path(version_batches.__file__)), *map(str, given)]
        ended = subprocess.run(
            command, check=True, env={**os.environ, **variables}, stdout=subprocess.PIPE
        )
    found: dict[str, list[float]] = json.loads(ended.stdout.splitlines()[-1])
    return found


@click.command(help=__doc__)
@click.option("--spark", "versions", multiple=True, type=click.Choice(list(SUPPORTED)))
@click.option("--turns", default=3, show_default=True)
def main(*, versions: Sequence[str], turns: int) -> None:
    """Measure version by version, and print a table."""
    rows = [("Spark", "rows", "guarded, ms", "bare foreachBatch, ms", "guarded over bare")]
    with Postgres() as postgres:
        for version in versions or SUPPORTED:
            installation = installation_of(version)
            ensure_archive(installation)
            for size in SIZES:
                name = f"cost_{version.replace('.', '_')}_{size.rows}"
                found = run_batches(installation, size, postgres=postgres, name=name, turns=turns)
                ours, theirs = found["guarded"], found["bare"]
                ratio = str(compare_medians(ours, theirs))
                shown = spread(ours).show(0), spread(theirs).show(0)
                rows.append((version, f"{size.rows:,}", *shown, ratio))
                print(f"{version}, {size.rows:,} rows: {ratio}", flush=True)
    print(*columns(rows), sep="\n")


if __name__ == "__main__":
    main()
