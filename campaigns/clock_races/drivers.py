"""Real Spark drivers of one stream, one of them with a clock that is ten minutes wrong."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import psycopg

from campaigns import delta_races, postgres_races
from campaigns.judging import judge
from holdfast.drills.kill import Named
from holdfast.record.epochs import newest_epoch
from holdfast.record.leases import read_lease
from holdfast.storage.write import Writer, open_writer
from lab import S3, Kafka, Postgres
from lab.faults.clock import MovedClock

MINUTES_10 = 600
AGO_S = 240
"""About how long before the end of a scene something was written down; up to nine minutes."""
_RECORD = "_holdfast/readings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """What the drivers run on."""

    kafka: Kafka
    postgres: Postgres
    s3: S3
    directory: Path


def race_ahead(lab: Lab) -> str:
    """Start two at once into PostgreSQL, one with its clock ten minutes ahead."""
    directory = lab.directory / "race-ahead"
    clock = _clock(directory, MINUTES_10)
    course = postgres_races.make_course(lab.kafka, lab.postgres, directory)
    held = postgres_races.race(replace(course, variables={"driver-1": clock.environment}))
    check_leases(open_writer(f"{course.root}/{_RECORD}"), off=[0, MINUTES_10])
    return "one at a time, " + ", ".join(f"{end - start:.1f} s" for start, end in held)


def race_behind(lab: Lab) -> str:
    """Start two at once into Delta on S3, one with its clock ten minutes behind."""
    directory = lab.directory / "race-behind"
    clock = _clock(directory, -MINUTES_10)
    course = delta_races.make_course(directory, s3=lab.s3)
    told = delta_races.race(replace(course, variables={"second": clock.environment}))
    check_leases(course.work.at(f"streams/{_RECORD}"), off=[-MINUTES_10, 0])
    return told


def stopped_ahead(lab: Lab) -> str:
    """Stop one that is ahead past its lease, set its clock back meanwhile, and let it go on."""
    directory = lab.directory / "stopped-ahead"
    clock = _clock(directory, MINUTES_10)
    course = postgres_races.make_course(lab.kafka, lab.postgres, directory)
    course = replace(course, variables={"first": clock.environment})
    point = Named("S5", nth=2)
    with course.driver("first").start(point, strike=signal.SIGSTOP) as first:
        first.wait_until_halted()
        check_batches(open_writer(f"{course.root}/readings"), off=MINUTES_10)
        clock.move(-MINUTES_10)
        course.driver("second").run_to_end()
        judge(course.work)
        first.resume()
        ended = first.wait()
    judge(course.work)
    assert ended.status != 0, "it did not say that it was replaced"
    check_leases(open_writer(f"{course.root}/{_RECORD}"), off=[0, MINUTES_10])
    with psycopg.connect(course.work.dsn) as connection:
        order = "SELECT epoch FROM holdfast.history ORDER BY committed_at, batch"
        epochs = [epoch for (epoch,) in connection.execute(order)]
    assert epochs == sorted(epochs), "the first driver wrote after the second had taken over"
    return f"replaced by its epoch; awake it ended with {ended.describe()}"


def taken_over_behind(lab: Lab) -> str:
    """Take over from one that is behind and stands in its commit to Delta; let it go on."""
    directory = lab.directory / "taken-over-behind"
    clock = _clock(directory, -MINUTES_10)
    course = delta_races.make_course(directory)
    course = replace(course, variables={"first": clock.environment})
    told = delta_races.take_over(course, "S3", "G5")
    check_leases(course.work.at(f"streams/{_RECORD}"), off=[-MINUTES_10, 0])
    return told


SCENES: dict[str, Callable[[Lab], str]] = {
    "into PostgreSQL, one clock +10 min": race_ahead,
    "into Delta on S3, one clock -10 min": race_behind,
    "into PostgreSQL, stopped past its lease, clock +10 min and then -10 min": stopped_ahead,
    "into Delta, stopped in its commit and taken over, clock -10 min": taken_over_behind,
}


def check_leases(record: Writer, *, off: list[int]) -> None:
    """Check by how much the clocks were wrong of those who took the leases: Python's."""
    found = []
    for epoch in range(1, newest_epoch(record) + 1):
        lease = read_lease(record, epoch)
        assert lease is not None
        found.append(_off(datetime.fromisoformat(lease.taken_at).timestamp()))
    assert sorted(set(found)) == off, f"clocks were wrong by {found} s"


def check_batches(checkpoint: Writer, *, off: int) -> None:
    """Check by how much the clock was wrong that Spark planned the first batch by: the JVM's."""
    raw = checkpoint.read("offsets/0")
    assert raw is not None
    planned = json.loads(raw.splitlines()[1])["batchTimestampMs"] / 1_000
    assert _off(planned) == off, f"Spark's clock was wrong by {_off(planned)} s"


def _off(then: float) -> int:
    """Return by how much a time of the last minutes is wrong, in steps of ten minutes."""
    by = then - time.time() + AGO_S
    return round(by / MINUTES_10) * MINUTES_10


def _clock(directory: Path, seconds: int) -> MovedClock:
    clock = MovedClock(directory / "clock")
    clock.move(seconds)
    return clock
