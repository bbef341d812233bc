"""Processes that race for the lease of one stream, on a disk and in a bucket: one owner at a time.

`HOLDFAST_RACES=100` runs as many on each; the gate keeps fewer.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from holdfast.record import release, take_lease, this_process
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import open_writer
from lab import S3

RACES = int(os.environ.get("HOLDFAST_RACES", "6"))
RACERS = 3
TERM_S = 20.0


@dataclass(frozen=True)
class SinkContents:
    """When a process had the lease, on the machine's one monotonic clock."""

    epoch: int
    start: float
    end: float


@dataclass(frozen=True)
class Course:
    """Where the races are run."""

    location: str
    options: Mapping[str, str]


def race(course: Course, barrier: Barrier, results: multiprocessing.SimpleQueue[object]) -> None:
    """Run every race: wait for the others, take the lease, hold it for a moment, give it up."""
    owner = this_process()
    for number in range(RACES):
        writer = open_writer(f"{course.location}/{number}", course.options)
        barrier.wait(60)
        lease = take_lease(writer, owner, term_s=TERM_S)
        start = time.monotonic()
        # Long enough that another who also believed to have it would be seen.
        time.sleep(0.01)
        end = time.monotonic()
        release(writer, lease)
        results.put((number, SinkContents(lease.epoch, start, end)))


def run_races(course: Course) -> list[list[SinkContents]]:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(RACERS), context.SimpleQueue()
    racers = [context.Process(target=race, args=(course, barrier, results)) for _ in range(RACERS)]
    for racer in racers:
        racer.start()
    races: list[list[SinkContents]] = [[] for _ in range(RACES)]
    for _ in range(RACES * RACERS):
        number, held = results.get()
        races[number].append(held)
    for racer in racers:
        racer.join(60)
        assert racer.exitcode == 0
    return races


@pytest.fixture(params=["disk", "bucket"])
def course(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Course]:
    if request.param == "disk":
        yield Course(str(tmp_path), {})
        return
    s3: S3 = request.getfixturevalue("s3")
    options = from_hadoop(s3.spark_settings(), bucket="lake")
    yield Course(f"s3://lake/races/{uuid.uuid4().hex}", options)


def test_of_all_who_want_it_one_has_the_lease_at_a_time(course: Course) -> None:
    for helds in run_races(course):
        helds.sort(key=lambda held: held.epoch)
        assert [held.epoch for held in helds] == list(range(1, RACERS + 1))
        for before, after in pairwise(helds):
            assert before.end <= after.start, helds
