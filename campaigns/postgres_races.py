"""Two real drivers of one stream, started in the same moment: one runs at a time, and successors.

    python -m campaigns.postgres_races [RACES]

Each race is two Spark drivers on one stream, RACES of them (5) with its root on local disk and one
on S3. Then a driver is killed and another one started: how long it waits for the lease; and one is
killed while another is already waiting.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import psycopg

from campaigns.judging import judge
from campaigns.streams.postgres_shapes import APPENDED
from campaigns.streams.postgres_workload import Workload, make_workload
from holdfast.drills.kill import Driver, Named
from holdfast.drills.kill.driver import Running
from holdfast.record.leases import TERM_S
from lab import S3, Kafka, Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

DRIVERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A stream and where its drivers find everything."""

    work: Workload
    root: str
    directory: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What some drivers have in their environment beside the rest, by their names."""

    def driver(self, name: str) -> Driver:
        """Return one of its drivers."""
        directory = self.directory / name
        variables = {**environment(directory, self.settings), **self.variables.get(name, {})}
        return Driver(
            self.work.program(self.root),
            environment={**variables, "READINGS_DSN": self.work.dsn},
            directory=directory / "runs",
        )


def race(course: Course) -> list[tuple[float, float]]:
    """Start drivers at once; return when each held the lease, the first first.

    Raises:
        AssertionError: Two held it at once, or something was lost or duplicated.
    """
    with ExitStack() as stack:
        drivers = [course.driver(f"driver-{number}") for number in range(DRIVERS)]
        running = [stack.enter_context(driver.start()) for driver in drivers]
        held = held_in_turn(running)
    judge(course.work)
    with psycopg.connect(course.work.dsn) as connection:
        order = "SELECT epoch FROM holdfast.history ORDER BY batch"
        epochs = [epoch for (epoch,) in connection.execute(order)]
    assert epochs == sorted(epochs), epochs
    return held


def held_in_turn(drivers: Sequence[Running]) -> list[tuple[float, float]]:
    """Wait until all have ended; return when each held the lease, the first first.

    A driver that another one keeps waiting for a whole term ends in LEASE_HELD, as it should.

    Raises:
        AssertionError: Two held it at once, or one did not end well.
    """
    ended = [(each, each.wait()) for each in drivers]
    held = sorted(held_lease(each) for each, how in ended if how.status == 0)
    assert held
    assert all(before[1] <= after[0] for before, after in pairwise(held)), held
    longest = max(end - start for start, end in held)
    for _, how in ended:
        log = how.log.read_text()
        is_held = "LeaseHeldError" in log and longest > TERM_S
        assert how.status == 0 or is_held, log
    return held


def held_lease(running: Running) -> tuple[float, float]:
    """Return from when to when a driver held the lease, and check what it did outside of that."""
    times = {point: time for time, point in running.reached}
    start, end = times["G2"], times["run-ended"]
    outside = [
        point for time, point in running.reached if point[0] == "S" and not start <= time <= end
    ]
    assert not outside, outside
    return start, end


def wait_of_successor(course: Course) -> float:
    """Kill a driver in a batch and start another; return for how long it waited for the lease."""
    course.driver("first").run_until_killed(Named("S5", nth=2))
    with course.driver("second").start() as second:
        waited = second.wait_for("G2") - second.wait_for("G1")
        assert second.wait().status == 0
    judge(course.work)
    return waited


def wait_of_standby(course: Course) -> float:
    """Kill a driver while another waits; return how long that takes to notice and go on."""
    with course.driver("first").start(Named("S5", nth=2), strike=signal.SIGSTOP) as first:
        first.wait_for("G2")
        with course.driver("second").start() as second:
            second.wait_for("G1")
            first.wait_until_halted()
            first.kill()
            killed = time.monotonic()
            waited = second.wait_for("G2") - killed
            assert second.wait().status == 0
        first.wait()
    judge(course.work)
    return waited


def make_course(
    kafka: Kafka, postgres: Postgres, directory: Path, *, s3: S3 | None = None
) -> Course:
    """Make a stream of its own, with its root on local disk or on S3."""
    work = make_workload(kafka, postgres, APPENDED)
    if s3 is None:
        return Course(work=work, root=str(directory / "streams"), directory=directory)
    root = f"s3a://lake/{work.topic}"
    return Course(work=work, root=root, directory=directory, settings=s3.spark_settings())


def main(races: int) -> None:
    """Run the races and print who waited for how long."""
    ensure_archive()
    with Kafka() as kafka, Postgres() as postgres, S3() as s3, scratch_directory() as scratch:
        for number in range(races + 1):
            on_s3 = s3 if number == races else None
            held = race(make_course(kafka, postgres, scratch / f"race-{number}", s3=on_s3))
            between = ", ".join(f"{end - start:.1f} s" for start, end in held)
            print(f"race {number + 1}{' on S3' if on_s3 else ''}: one at a time, {between}; exact")
        waited = wait_of_successor(make_course(kafka, postgres, scratch / "successor"))
        print(f"a killed driver's successor on the same machine waited {waited:.2f} s; exact")
        waited = wait_of_standby(make_course(kafka, postgres, scratch / "standby"))
        print(f"a driver that was waiting went on {waited:.2f} s after the kill; exact")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
