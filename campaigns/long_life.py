"""A driver that nobody kills: what grows with its batches, and must not.

    python -m campaigns.long_life [STREAM] [BATCHES]

A stream runs through hundreds of batches in one driver. Its memory and open files are sampled on
the way; the last quarter is compared with the second, for in the first it is still warming up. What
each JVM keeps is up to its garbage collector, and only told.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Iterator
from functools import partial

import psutil

from campaigns.soak.growth import Sample, measure_processes, most_of
from holdfast.drills.builtin.cells import BUILTIN, BuiltinSubject
from holdfast.drills.builtin.workload import write_files
from holdfast.drills.errors import DriverFailedError
from holdfast.drills.kill.driver import Running
from holdfast.drills.kill.waiting import wait_until
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

STREAM, BATCHES, SAMPLES = "both-append", 200, 40
LONGEST_SECONDS = 3_600.0
TOLD = ("driver's JVM, MB", "Python workers, MB")


def watch(running: Running, *, batches: int) -> Iterator[Sample]:
    """Yield a sample whenever some more batches are done, for as long as the driver lives."""
    for number in range(1, SAMPLES):
        due = number * batches // SAMPLES
        if not wait_until(partial(has_done, running, due), seconds=LONGEST_SECONDS):
            raise TimeoutError(f"batch {due} did not come")
        try:
            sample = measure_processes(running.pid)
        except psutil.NoSuchProcess:  # a worker, or all of it, that ended just now
            continue
        yield sample


def has_done(running: Running, batches: int) -> bool:
    """Return whether a driver has brought so many batches to their end, or is gone."""
    done = sum(point == "S7" for _, point in running.reached)
    return done >= batches or not psutil.pid_exists(running.pid)


def judge(samples: list[Sample]) -> list[str]:
    """Print every figure early and late; return those that grew."""
    quarter = len(samples) // 4
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    grown = []
    for name in samples[0]:
        first, last = (statistics.median(each[name] for each in part) for part in (early, late))
        most = most_of(early, name)
        if name not in TOLD and last > most:
            grown.append(name)
        verdict = "" if name in TOLD else f", at most {most:,.0f}"
        print(f"  {name:<24}{first:>8,.0f} then {last:,.0f}{verdict}")
    return grown


def main(stream: str = STREAM, batches: str = str(BATCHES)) -> int:
    """Run a stream, and end with 1 when something grew or it did not come to its end."""
    ensure_archive()
    with Postgres() as postgres, scratch_directory() as scratch:
        os.environ.update(environment(scratch / "spark", {}))
        dsn = postgres.create_database("life")
        count = int(batches)
        subject = BuiltinSubject(
            stream=BUILTIN[stream], files=count, home=scratch / "home", dsn=dsn
        )
        write_files(subject.home / "files", files=count)
        for place in subject.places:
            place.prepare()
        with subject.driver.start() as running:
            samples = list(watch(running, batches=count))
            ended = running.wait()
        if ended.status != 0:
            raise DriverFailedError(status=ended.describe(), log=ended.log)
        faults = [f"{name} grows" for name in judge(samples)]
        print(f"{stream}, {count} batches in one driver: {'; '.join(faults) or 'nothing grows'}")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
