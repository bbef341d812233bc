"""What a batch costs over Spark Connect: guarded, through the data source, and by a bare function.

    python -m benchmarks.connect_cost [--turns N]

Parquet files of rows go into PostgreSQL, one file per batch: files of 100 rows, and of 200,000. One
server and one client do all three ways in turns, and the order changes with each turn. The figure
is Spark's `addBatch`, which ends when the function or the data source has committed.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import click
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.connect_cost_client import BARE, WARM, WAYS
from benchmarks.measuring import ratios, spread
from lab import Postgres
from lab.connect import ConnectServer, start_client
from lab.scratch import scratch_directory

SIZES = {100: 12, 200_000: 4}
"""Rows of a batch, and how many batches of a run are measured."""
_CLIENT = Path(__file__).with_name("connect_cost_client.py")
_HOUR = 3600


@click.command(help=__doc__)
@click.option("--turns", default=5, show_default=True, help="Of each way and size.")
def main(turns: int) -> None:
    """Measure, and print each way."""
    with scratch_directory() as home, Postgres() as postgres:
        dsn = postgres.create_database("connect_cost")
        for rows, batches in SIZES.items():
            _write_files(home / "in" / str(rows), rows, batches + WARM)
        with ConnectServer(variables={"DSN": dsn}) as server:
            for rows, batches in SIZES.items():
                found = _measure(server, home, dsn, rows=rows, turns=turns)
                _show(found, rows=rows, batches=batches)


def _write_files(directory: Path, rows: int, files: int) -> None:
    directory.mkdir(parents=True)
    for number in range(files):
        ids = range(number * rows, (number + 1) * rows)
        table = pa.table(
            {"id": list(ids), "k": [f"sensor-{each % 97}" for each in ids], "v": pa.array(ids)}
        )
        pq.write_table(table, directory / f"f{number:04}.parquet")


def _measure(
    server: ConnectServer, home: Path, dsn: str, *, rows: int, turns: int
) -> dict[str, list[list[int]]]:
    """Return the milliseconds of each batch, by turn and way."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for turn in range(turns):
            for number in range(len(WAYS)):
                table = f"t_{rows}_{turn}_{number}"
                connection.execute(f"create table {table} (id bigint, k text, v bigint)".encode())
    log = home / f"client-{rows}.log"
    given = [server.address, str(home), str(rows), str(turns)]
    with log.open("wb") as file:
        process = start_client(_CLIENT, *given, variables={"DSN": dsn}, log=file)
        assert process.wait(_HOUR) == 0, log.read_text()[-3000:]
    found: dict[str, list[list[int]]] = json.loads((home / f"took-{rows}").read_text())
    return found


def _show(found: dict[str, list[list[int]]], *, rows: int, batches: int) -> None:
    print(f"batches of {rows:,} rows, {batches} in each of {len(found[BARE])} turns")
    bare = [statistics.median(turn) for turn in found[BARE]]
    for way, by_turn in found.items():
        every = spread([each for turn in by_turn for each in turn])
        ratio = ratios([statistics.median(turn) for turn in by_turn], bare)
        print(f"  {way:<20} {every.show(0)} ms, {ratio.show(2)} of the bare function", flush=True)


if __name__ == "__main__":
    main()
