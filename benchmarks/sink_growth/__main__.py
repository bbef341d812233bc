"""What a start and a batch cost when many commits lie behind them, for each sink.

    python -m benchmarks.sink_growth [SINK]... [--sizes 100,1000,10000]

A start connects, checks the target, reads and examines the ledger row, and fences it; the lease and
the record of a stream are not in it. A batch is 100 rows with their ledger row, beside the same
rows written bare, in turns. Of PostgreSQL, MariaDB, SQLite, Kafka and files the history is written
by the sink itself, and no Spark is in the figures; `hdfs` is files on a real HDFS, through the
client of a session. Of Delta and Iceberg the history is crafted in their formats, and Spark writes
the batches; Iceberg runs in the Python of a Spark that it has a runtime for. Ends with 1 when a
batch gets slower than the bare one does.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import click

from benchmarks.measuring import exit_when_missed
from benchmarks.sink_growth.growing import ROWS, GrowingSink, judge, measure_sizes
from lab.iceberg import RUNTIMES, run_iceberg
from lab.scratch import scratch_directory
from lab.versions import OWN_VERSION

SINKS = {
    "postgres": "databases",
    "mariadb": "databases",
    "sqlite": "databases",
    "kafka": "topics",
    "files": "files",
    "hdfs": "files",
    "delta": "delta",
    "iceberg": "iceberg",
}
"""The module of each."""
MOST_TIMES_SLOWER = 1.5


def measure(name: str, sizes: list[int], scratch: Path) -> list[str]:
    """Measure one sink; return what was missed."""
    module = importlib.import_module(f"benchmarks.sink_growth.{SINKS[name]}")
    opened: Callable[[Path], AbstractContextManager[GrowingSink]] = getattr(module, name)
    directory = scratch / name
    directory.mkdir()
    began = time.monotonic()
    print(f"{name}: {ROWS} rows per batch; ms, medians with the lowest and the highest", flush=True)
    with opened(directory) as sink:
        found = measure_sizes(sink, sizes)
    missed = judge(name, found, most_times=MOST_TIMES_SLOWER)
    print(f"  {time.monotonic() - began:.0f} s in all", flush=True)
    return missed


def elsewhere(name: str, sizes: str) -> list[str]:
    """Measure one sink in a process of its own; return what was missed."""
    words = [name, "--sizes", sizes]
    if name == "iceberg":
        status = run_iceberg("benchmarks.sink_growth", words)
    else:
        command = [sys.executable, "-m", "benchmarks.sink_growth", *words]
        status = subprocess.run(command, check=False).returncode
    return [f"{name} ended with {status}"] if status else []


@click.command(help=__doc__)
@click.argument("sinks", metavar="[SINK]...", nargs=-1, type=click.Choice(list(SINKS)))
@click.option("--sizes", default="100,1000,10000", show_default=True)
def main(sinks: tuple[str, ...], *, sizes: str) -> None:
    """Measure each sink in a process of its own, and fail when a batch gets slower."""
    asked = sinks or tuple(SINKS)
    is_here = len(asked) == 1 and (asked[0] != "iceberg" or OWN_VERSION in RUNTIMES)
    if not is_here:
        exit_when_missed([said for name in asked for said in elsewhere(name, sizes)])
        return
    with scratch_directory() as scratch:
        exit_when_missed(measure(asked[0], [int(size) for size in sizes.split(",")], scratch))


if __name__ == "__main__":
    main()
