"""What a driver that is stopped leaves behind, and how long the next start waits for it.

    python -m campaigns.clean_stops [--only WAY] [--restarts N]

A driver into PostgreSQL is stopped in the middle of its batches: by SIGTERM with
`hf.stop_on_sigterm`, by Ctrl-C, by `spark.stop()`, by the end of its program, and by a cell that is
run again (`query.stop()` and `hf.start` in one process). Its lease must be released and its run
ended. Before the next start the lease is given another machine's name, so that no start can look
for the process: what is measured is what a driver on another host would wait for. At the end the
table holds every row exactly once.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click
import psycopg

from benchmarks.measuring import exit_when_missed, spread
from campaigns.streams import until_stopped
from campaigns.streams.until_stopped import EXIT, INTERRUPT, RERUN, SIGTERM, WAYS
from holdfast.proof.multiset import compare
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

AIM = 2.0
"""Seconds that a lease may be waited for."""
SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """One driver that was stopped."""

    starts: list[float]
    """The seconds of each call of `hf.start`."""
    seconds: float
    """From the stop until the process was gone."""
    is_released: bool
    run_ended: str


def run_and_stop(way: str, *, root: Path, dsn: str) -> Stopped:
    """Run a driver, stop it, and return what it left."""
    program = [sys.executable, str(until_stopped.__file__), str(root / "streams"), way]
    settings = {**os.environ, **environment(root / "spark", {}), "TICKS_DSN": dsn}
    said = []
    with (
        (root / "log").open("a") as log,
        subprocess.Popen(
            program,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        ) as driver,
    ):
        assert driver.stdout is not None
        for line in driver.stdout:
            said.append(line)
            if line == "running\n" and way in (SIGTERM, INTERRUPT):
                break
        began = time.monotonic()
        if way == SIGTERM:
            driver.terminate()
        elif way == INTERRUPT:
            os.killpg(driver.pid, signal.SIGINT)  # as a terminal does, to the JVM too
        try:
            driver.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(driver.pid, signal.SIGKILL)  # the end of the block would wait for it
            raise
    record = root / "streams/_holdfast/ticks"
    lease = json.loads(max((record / "leases").iterdir()).read_text())
    run = json.loads(max((record / "runs").iterdir()).read_text())
    return Stopped(
        starts=[float(each) for each in re.findall(r"started ([0-9.]+)", "".join(said))],
        seconds=time.monotonic() - began,
        is_released=lease["released"],
        run_ended=run["ended"],
    )


def move_away(root: Path) -> None:
    """Have the newest lease come from another machine."""
    newest = max((root / "streams/_holdfast/ticks/leases").iterdir())
    lease = json.loads(newest.read_text())
    lease["owner"] |= {"host": "another", "machine": "another"}
    newest.write_text(json.dumps(lease))


def report(way: str, *, root: Path, dsn: str, restarts: int) -> list[str]:
    """Stop and start in one way, print what it took, and return what was missed."""
    root.mkdir()
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE ticks (value bigint)")
    drivers = []
    for _ in range(1 if way == RERUN else restarts + 1):
        drivers.append(run_and_stop(way, root=root, dsn=dsn))
        move_away(root)
    first, *again = [seconds for driver in drivers for seconds in driver.starts]
    left = [each for each in drivers if not each.is_released or each.run_ended == "running"]
    ends = sorted({each.run_ended for each in drivers})
    print(f"{way}: {len(again)} restarts; {len(left)} leases or runs left; runs end as {ends}")
    print(f"  hf.start again   {spread(again).show(2)} s; the first {first:.2f} s")
    if way not in (RERUN, EXIT):
        print(f"  until it is gone {spread([each.seconds for each in drivers]).show(2)} s")
    with psycopg.connect(dsn) as connection:
        rows = [(int(value),) for (value,) in connection.execute("SELECT value FROM ticks")]
    found = compare([(value,) for value in range(len(rows))], rows)
    print(f"  {len(rows):,} rows: {found}", flush=True)
    missed = [f"{way}: {len(left)} not released"] if left else []
    missed += [] if found.exact else [f"{way}: {found}"]
    slow = max(again) - first
    return missed + ([f"{way}: a start waited {slow:.1f} s"] if slow > AIM else [])


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(WAYS))
@click.option("--restarts", default=20, show_default=True)
def main(*, only: str | None, restarts: int) -> None:
    """Stop in every way, and fail when a lease is left or waited for."""
    ensure_archive()
    missed: list[str] = []
    with Postgres() as postgres, scratch_directory() as scratch:
        for way in [only] if only else WAYS:
            dsn = postgres.create_database(way.replace("-", "_"))
            missed += report(way, root=scratch / way, dsn=dsn, restarts=restarts)
    exit_when_missed(missed)


if __name__ == "__main__":
    main()
