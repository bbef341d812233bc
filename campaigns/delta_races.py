"""Two real drivers of one guarded stream into one Delta table, at the same moment.

    python -m campaigns.delta_races [RACES] [SEED]

RACES of them (30) on disk and as many on S3. Both have their Spark up before either starts the
stream. In two of three races both start it at once, and one waits for the other. In the third the
second does not wait (`takeover=True`): the first stands still at a point until the second has come
to one, and then both go on; the seed draws the points. Whoever was told that a batch is in the
table must be right.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path

from campaigns.judging import OF_ROWS, judge
from campaigns.postgres_races import held_in_turn
from campaigns.streams.delta_workload import Workload, epochs_told, make_workload
from holdfast.drills.builtin.delta_table import Snapshot
from holdfast.drills.kill import Driver, Ended, Named, Point
from holdfast.drills.kill.driver import Running
from holdfast.record.epochs import newest_epoch
from holdfast.record.leases import read_lease
from lab import S3
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

FILES = 3
ONE_IN = 3
"""Of so many races one has a second driver that does not wait."""
HALTED_AT = ("G2", "G3", "G4", "fenced", "G5", "S1", "S3", "S6", "sink-written", "S7")
GOES_ON_AT = ("G2", "G3", "G4", "fenced", "G5", "S1", "S3")
REPLACED = (
    "has taken over",
    "was fenced by another driver",
    "The lease is lost",
    "was paused for longer than its lease lasts",
    "another driver wrote it",
    "Another start of the stream has opened a generation meanwhile",
    "Multiple streaming jobs detected",  # the entry is there
    "Multiple streaming queries are concurrently using",  # it came just now
    "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",  # in the first batch: it is being written
)
"""What a driver that was replaced says, or Spark for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A stream and its drivers."""

    work: Workload
    directory: Path
    variables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """What some drivers have in their environment beside the rest, by their names."""

    def driver(self, name: str, *options: str) -> Driver:
        """Return one of its drivers."""
        directory = self.directory / name
        variables = {**environment(directory, self.work.settings), **self.variables.get(name, {})}
        return Driver(
            self.work.program(*options),
            environment=variables,
            directory=directory / "runs",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A driver whose Spark is up, and what starts its stream."""

    running: Running
    go: Callable[[], object]


def race(course: Course) -> str:
    """Start two drivers at once; say for how long each held the lease.

    Raises:
        AssertionError: Two held it at once, or something was lost or duplicated.
    """
    with _pair(course) as (first, second):
        first.go()
        second.go()
        held = held_in_turn([first.running, second.running])
        judge_drivers(course, [first.running, second.running])
    judge(course.work)
    return "one at a time, " + ", ".join(f"{end - start:.1f} s" for start, end in held)


def take_over(course: Course, halted_at: str, goes_on_at: str) -> str:
    """Start a driver that does not wait while the first stands still; say how both ended.

    Args:
        course: The stream.
        halted_at: Where the first stands still.
        goes_on_at: Where the second is when the first goes on.

    Raises:
        AssertionError: Something was lost or duplicated, or a driver failed for another reason than
            that it was replaced.
    """
    with _pair(course, "--takeover", point=Named(halted_at)) as (first, second):
        first.go()
        first.running.wait_until_halted()
        second.go()
        second.running.wait_for(goes_on_at)
        first.running.resume()
        ended = [each.running.wait() for each in (first, second)]
        judge_drivers(course, [first.running, second.running])
    told = [_how(each) for each in ended]
    if ended[1].status != 0:  # what the first did to the checkpoint has stopped it
        course.driver("third").run_to_end()
        told.append("a third: exit code 0")
    judge(course.work)
    return f"from {halted_at} with the other at {goes_on_at}, {', '.join(told)}"


def judge_drivers(course: Course, drivers: list[Running]) -> None:
    """Check the table, the order of epochs, and that what a driver was told is in the log."""
    snapshot = course.work.open("table").read()
    judge(course.work, checks=OF_ROWS)
    epochs = epochs_told(snapshot)
    assert epochs == sorted(epochs), epochs
    record = course.work.at("streams/_holdfast/readings")
    for epoch in range(1, newest_epoch(record) + 1):
        lease = read_lease(record, epoch)
        assert lease is not None
        for driver in drivers:
            if driver.pid == lease.owner.pid:
                told, there = _told_written(driver), _batches_of(snapshot, epoch)
                assert told <= there, f"epoch {epoch} was told {told} batches; {there} are there"


def _told_written(driver: Running) -> int:
    """Return how many batches a driver has committed and was told that they are in."""
    points = [point for _, point in driver.reached if point in ("S6", "sink-written")]
    return sum(pair == ("S6", "sink-written") for pair in pairwise(points))


def _batches_of(snapshot: Snapshot, epoch: int) -> int:
    numbers = [-1, *(int(row["last_batch"]) for row in snapshot.ledger)]
    advanced = zip(snapshot.ledger, pairwise(numbers), strict=True)
    return sum(row["epoch"] == epoch and now > before for row, (before, now) in advanced)


def _how(ended: Ended) -> str:
    log = ended.log.read_text()
    assert ended.status == 0 or any(words in log for words in REPLACED), log
    return ended.describe()


@contextmanager
def _pair(
    course: Course, *options_of_second: str, point: Point | None = None
) -> Iterator[tuple[Starter, Starter]]:
    """Start two drivers, the first to halt at a point; wait until the Spark of both is up."""
    with ExitStack() as stack:
        starters = []
        for name, options, halted_at in (
            ("first", (), point),
            ("second", options_of_second, None),
        ):
            path = course.directory / f"{name}.pipe"
            os.mkfifo(path)
            pipe = stack.enter_context(path.open("r+b", buffering=0))  # open, or the line is lost
            driver = course.driver(name, "--gate", str(path), *options)
            running = stack.enter_context(driver.start(halted_at, strike=signal.SIGSTOP))
            starters.append(Starter(running=running, go=partial(pipe.write, b"go\n")))
        for each in starters:
            each.running.wait_for("ready")
        yield starters[0], starters[1]


def make_course(directory: Path, *, s3: S3 | None = None) -> Course:
    """Make a stream of its own, on local disk or on S3; its table the first driver makes."""
    work = make_workload(directory / "work", "appended", files=FILES, s3=s3)
    return Course(work=work, directory=directory)


def main(races: int, seed: int) -> None:
    """Run the races and print how each ended."""
    ensure_archive()
    choose = random.Random(seed)  # noqa: S311 - it must be replayable
    print(f"seed {seed}", flush=True)
    with S3() as s3, scratch_directory() as scratch:
        for number in range(2 * races):
            on_s3 = s3 if number % 2 else None
            course = make_course(scratch / f"race-{number}", s3=on_s3)
            if number // 2 % ONE_IN == ONE_IN - 1:
                told = take_over(course, choose.choice(HALTED_AT), choose.choice(GOES_ON_AT))
            else:
                told = race(course)
            print(f"race {number + 1}{' on S3' if on_s3 else ''}: {told}; exact", flush=True)
    print(f"{races} races on disk, {races} on S3: nothing lost, nothing duplicated")


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*(given + [30, 1][len(given) :]))
