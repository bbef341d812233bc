"""Two drivers of one stream, one of them with a clock that is ten minutes wrong: one owner.

    python -m campaigns.clock_races [--races 200] [--drivers 4] [--seed N]

Half of the races have their record on disk and half on S3, half of the clocks go ahead and half
back: before the race, or by somebody's hand in its middle. In every second race the owner lives,
and the other must wait however its clock goes; in the others the owner stands still past its lease,
is replaced and goes on. The racers take the real lease, fence and ledger in PostgreSQL, without
Spark. Then so many races of real Spark drivers follow.
"""

from __future__ import annotations

import argparse
import random
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psycopg

from campaigns.clock_races.drivers import MINUTES_10, SCENES, Lab
from campaigns.clock_races.racer import BATCHES, TABLE, Race, ids_of, open_row
from campaigns.clock_races.racing import SECONDS, Racer, WriterOptions
from holdfast.drills.kill.waiting import wait_until
from holdfast.proof.multiset import compare
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.storage.options import from_hadoop
from lab import S3, Kafka, Postgres
from lab.s3 import BUCKET
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

LIVING_TERM_S, STOPPED_TERM_S = 9.0, 1.0
POLLS = 3
"""So often a contender looks at a living owner's lease after a clock was moved."""
HALTED_AT = ("G2", "fenced", "G5", "S1", "S3", "copying", "S5", "S6", "S7")
GOES_ON_AT = ("G2", "G5", "S1", "S5", "S7", None)
"""Where the second is when the first goes on; None: at its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One race, as the seed draws it."""

    number: int
    on_s3: bool
    halts_at: str | None
    """Where the owner stands still; None: it lives."""
    goes_on_at: str | None
    moved: int
    """Whose clock: of the first or the second racer; of a living owner or who waits for it."""
    by: int
    beforehand: bool

    @property
    def kind(self) -> str:
        """In words."""
        owner = "a living owner" if self.halts_at is None else "an owner stopped and continued"
        return f"{owner}, {'on S3' if self.on_s3 else 'on disk'}, clock {self.by // 60:+} min"

    def __str__(self) -> str:
        when = "before the race" if self.beforehand else "in its middle"
        still = f"; stopped at {self.halts_at}, on at {self.goes_on_at}" if self.halts_at else ""
        return f"race {self.number} ({self.kind} {when}, racer {self.moved}{still})"


def draw(races: int, choose: random.Random) -> list[Plan]:
    """Draw races: every kind as often as any other."""
    return [
        Plan(
            number=number,
            on_s3=number % 2 == 1,
            halts_at=choose.choice(HALTED_AT) if number // 2 % 2 else None,
            goes_on_at=choose.choice(GOES_ON_AT),
            by=MINUTES_10 if number // 4 % 2 else -MINUTES_10,
            moved=choose.randrange(2),
            beforehand=choose.random() < 1 / 2,
        )
        for number in range(races)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Where races are run, and by whom."""

    dsn: str
    on_disk: Path
    in_bucket: str
    options: Mapping[str, str]
    racers: tuple[Racer, Racer]

    def prepare(self, plan: Plan, *, term_s: float) -> Race:
        """Open the ledger row of a race; return it, without anything that happens in it."""
        home = self.in_bucket if plan.on_s3 else str(self.on_disk)
        race = Race(
            number=plan.number,
            location=f"{home}/{plan.number}",
            options=dict(self.options) if plan.on_s3 else {},
            term_s=term_s,
        )
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            assert replace_row(connection, None, open_row(race), target=TABLE)
        return race


def run(course: Course, plan: Plan) -> Counter[str]:
    """Run a race and judge it; return how the racers ended.

    Raises:
        AssertionError: Two held the lease of a living owner, an older driver wrote after a newer
            one had fenced it, or something was lost or duplicated.
    """
    for racer in course.racers:
        racer.clock.move(0)
        racer.forget()
    if plan.beforehand:
        course.racers[plan.moved].clock.move(plan.by)
    moved = _run_living(course, plan) if plan.halts_at is None else _run_stopped(course, plan)
    assert moved.is_moved_by(plan.by), f"{plan}: the clock was not moved"
    judge(course, plan)
    return Counter(each.last().how for each in course.racers)


def _run_living(course: Course, plan: Plan) -> Racer:
    """Start both at once; the one that gets the lease keeps it. Return whose clock was moved."""
    race = course.prepare(plan, term_s=LIVING_TERM_S)
    for racer in course.racers:
        racer.begin(msgspec.structs.replace(race, brings=BATCHES // 2), waits_at="S1")
    owner = _first_to_stand(course.racers)
    other = course.racers[1 - course.racers.index(owner)]
    other.wait_for("waiting")
    moved = course.racers[plan.moved] if plan.beforehand else (owner, other)[plan.moved]
    moved.clock.move(plan.by)
    assert other.goes_on_waiting(POLLS), f"{plan}: it took the lease of a living owner"
    owner.go_on()
    owner.wait_for("ended")
    other.wait_for("stands")
    other.go_on()
    other.wait_for("ended")
    held = sorted(each.held() for each in course.racers)
    assert held[0][1] <= held[1][0], f"{plan}: two had the lease at once, {held}"
    return moved


def _first_to_stand(racers: tuple[Racer, Racer]) -> Racer:
    def standing() -> list[Racer]:
        return [each for each in racers if each.has_told("stands")]

    assert wait_until(lambda: bool(standing()), seconds=SECONDS), "nobody took the lease"
    return standing()[0]


def _run_stopped(course: Course, plan: Plan) -> Racer:
    """Stop the first past its lease, start the second, and let the first go on in between."""
    race = course.prepare(plan, term_s=STOPPED_TERM_S)
    first, second = course.racers
    first.begin(race, halts_at=plan.halts_at)
    first.wait_until_halted()
    second.begin(race, waits_at=plan.goes_on_at)
    second.wait_for("waiting")
    course.racers[plan.moved].clock.move(plan.by)
    second.wait_for("ended" if plan.goes_on_at is None else "stands")
    first.resume()
    if plan.goes_on_at is not None:
        second.go_on()
    for racer in course.racers:
        racer.wait_for("ended")
    return course.racers[plan.moved]


def judge(course: Course, plan: Plan) -> None:
    """Check the rows, that every epoch had one owner, and that none wrote after it was fenced."""
    with psycopg.connect(course.dsn) as connection:
        rows = connection.execute(
            f"SELECT id FROM {TABLE} WHERE race = %s".encode(),  # noqa: S608 - no value in it
            (plan.number,),
        ).fetchall()
        history = connection.execute(
            "SELECT batch, epoch FROM holdfast.history WHERE stream = %s", (f"race-{plan.number}",)
        ).fetchall()
    found = compare([(row,) for batch in range(BATCHES) for row in ids_of(batch)], rows)
    assert found.exact, f"{plan}: {found}"
    assert sorted(batch for batch, _ in history) == list(range(BATCHES)), f"{plan}: {history}"
    told: list[WriterOptions] = [each for racer in course.racers for each in racer.told]
    taken = [each.epoch for each in told if each.what == "taken"]
    assert len(set(taken)) == len(taken), f"{plan}: an epoch with two owners, {taken}"
    for fence in (each for each in told if each.what == "fenced"):
        for batch, epoch in history:
            is_later = batch > fence.last_batch
            assert (epoch >= fence.epoch) == is_later, f"{plan}: {fence}, and {history}"


@contextmanager
def make_course(
    postgres: Postgres, s3: S3, directory: Path, *, lease_clock: str = "monotonic"
) -> Iterator[Course]:
    """Make the table and start the racers."""
    dsn = postgres.create_database(f"clocks_{uuid.uuid4().hex[:8]}")
    with psycopg.connect(dsn, autocommit=True) as connection:
        ensure_tables(connection)
        connection.execute(f"CREATE TABLE {TABLE} (race bigint, id bigint)".encode())
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(Racer(dsn, directory / name, lease_clock=lease_clock))
            for name in ("first", "second")
        )
        yield Course(
            dsn=dsn,
            on_disk=directory / "races",
            in_bucket=f"s3://{BUCKET}/clock-races/{uuid.uuid4().hex[:8]}",
            options=from_hadoop(s3.spark_settings(), bucket=BUCKET),
            racers=(first, second),
        )


def run_races(postgres: Postgres, s3: S3, plans: list[Plan]) -> Iterator[str]:
    """Run races; yield a line per kind."""
    kinds: dict[str, Counter[str]] = {}
    with scratch_directory() as scratch, make_course(postgres, s3, Path(scratch)) as course:
        for plan in plans:
            kinds.setdefault(plan.kind, Counter()).update(run(course, plan))
    for kind, ended in sorted(kinds.items()):
        how = ", ".join(f"{times} x {each}" for each, times in ended.most_common())
        yield f"{kind}: {ended.total() // 2} races, exact; they ended with {how}"
    yield f"{len(plans)} races: one owner per epoch, nothing lost, nothing duplicated"


def run_drivers(postgres: Postgres, s3: S3, *, races: int) -> Iterator[str]:
    """Run races of real drivers; yield a line for each."""
    ensure_archive()
    with Kafka() as kafka, scratch_directory() as scratch:
        lab = Lab(kafka=kafka, postgres=postgres, s3=s3, directory=Path(scratch))
        for kind, scene in list(SCENES.items())[:races]:
            yield f"two Spark drivers {kind}: {scene(lab)}; exact"


def main() -> None:
    """Print what became of each kind of race."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--races", type=int, default=200)
    parser.add_argument("--drivers", type=int, default=len(SCENES))
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    plans = draw(asked.races, random.Random(asked.seed))  # noqa: S311 - it must be replayable
    with Postgres() as postgres, S3() as s3:
        if plans:
            for line in run_races(postgres, s3, plans):
                print(line, flush=True)
        if asked.drivers:
            for line in run_drivers(postgres, s3, races=asked.drivers):
                print(line, flush=True)
