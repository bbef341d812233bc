"""Two appliers of one stream in the same moment: one applies, the other is refused.

    python -m campaigns.repair_races [RACES] [--store disk|s3] [--seed N]

Of three races, in one both have the same plan, in one each has a plan of its own for the same
damage, and in one the other starts the stream: it takes the lease and looks for a plan that is half
applied, as a guarded start does, and reads the checkpoint twice while it holds the lease. Two
processes are started once and race RACES times (100), each time on a stream of its own. After each
race the checkpoint is compared with that of a plan that raced with nobody; what a start has seen
must be all of before or all of after.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from holdfast.apply import movement
from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.errors import HoldfastError
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan, decode_plan, encode_plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import digest_of
from holdfast.record.layout import record_location
from holdfast.record.leases import release, take_lease
from holdfast.record.owner import this_process
from holdfast.record.repairs import unfinished_repair
from holdfast.storage.location import parse_location
from holdfast.storage.options import from_hadoop
from lab import S3
from lab.scratch import scratch_directory

APPLIERS = 2
START, APPLIED = "start", "applied"
REFUSALS = ("STALE_PLAN", "STREAM_RUNS", "UNFINISHED_REPAIR", "JOURNAL")
_LINE = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'


def checkpoint() -> Iterator[tuple[str, bytes]]:
    """Yield the files of a checkpoint whose newest entries are damaged."""
    yield "metadata", b'{"id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01"}'
    for batch in range(3):
        yield f"offsets/{batch}", f'v1\n{_LINE}\n{{"topic":{{"0":{batch}}}}}'.encode()
        yield f"commits/{batch}", b"v1\n{" if batch == 2 else b'v1\n{"nextBatchWatermarkMs":0}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Where it is raced."""

    root: str
    options: Mapping[str, str]
    scratch: Path

    def prepare(self, name: str) -> list[Path]:
        """Make a stream, and a plan for each applier; return their files."""
        place = f"{self.root}/{name}"
        writer = Stores(options=self.options).at(place)
        for path, raw in checkpoint():
            writer.put(path, raw)
        plans = []
        for number in range(APPLIERS):
            plan = make_plan(
                Request(goal="resume"), DiagnoseRequest(location=place, options=self.options)
            )
            assert isinstance(plan, Plan), plan
            plans.append(self.scratch / f"{name}-{number}.json")
            plans[-1].write_bytes(encode_plan(plan))
        return plans


class Applier:
    """A process that applies the plans whose files it is given."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "campaigns.repair_races", "--applies"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RACE_OPTIONS": json.dumps(dict(options))},
        )

    def begin(self, doing: str, plan: Path) -> None:
        """Have it `apply` a plan, or `start` its stream."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{doing} {plan}\n")
        self._process.stdin.flush()

    def wait(self) -> str:
        """Return how that ended: `applied`, or the code of the refusal."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def __enter__(self) -> Applier:
        return self

    def __exit__(self, *_: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def act_as_told() -> None:
    """Apply plans and start streams until there are no more."""
    stores = Stores(options=json.loads(os.environ["RACE_OPTIONS"]))
    for line in sys.stdin:
        doing, file = line.split()
        plan = decode_plan(Path(file).read_bytes(), file)
        try:
            if doing == START:
                said = start(plan, stores)
            else:
                apply_plan(plan, stores, allowed={each.word for each in plan.needs})
                said = APPLIED
        except HoldfastError as error:
            said = error.code
        print(said, flush=True)


def start(plan: Plan, stores: Stores) -> str:
    """Do what a guarded start does before Spark's; return what it has seen of the checkpoint."""
    record = stores.at(str(record_location(parse_location(plan.root), plan.stream)))
    lease = take_lease(record, this_process())
    try:
        if unfinished_repair(record) is not None:
            return "UNFINISHED_REPAIR"
        place = f"{plan.root}/{plan.stream}"
        seen = [digest_tree(stores, place) for _ in range(2)]
        return seen[0] if seen[0] == seen[1] else "it changed while the lease was held"
    finally:
        release(record, lease)


def digest_tree(stores: Stores, place: str) -> str:
    """Return what tells the files below a place apart, by their content."""
    there = stores.at(place)
    return digest_of(repr(sorted((each.path, there.read(each.path)) for each in there.walk())))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A checkpoint before and after a plan that raced with nobody."""

    before: str
    after: str

    def is_fine(self, said: list[str], *, is_start: bool) -> bool:
        """Return whether one has applied, and the other was refused or has seen all or nothing."""
        if is_start:
            return said[0] == APPLIED and said[1] in (self.before, self.after, *REFUSALS)
        refused, applied = sorted(said)
        return applied == APPLIED and refused in REFUSALS

    def display_name(self, said: list[str]) -> str:
        """Return how a race ended."""
        names = {self.before: "saw before", self.after: "saw after"}
        return " and ".join(sorted(names.get(each, each) for each in said))


def look_alone(course: Course, stores: Stores) -> Seen:
    """Apply a plan that nobody races with."""
    plan = decode_plan(course.prepare("alone")[0].read_bytes(), "alone")
    before = digest_tree(stores, f"{course.root}/alone")
    apply_plan(plan, stores, allowed={each.word for each in plan.needs})
    return Seen(before=before, after=digest_tree(stores, f"{course.root}/alone"))


def race(course: Course, races: int, *, seed: int) -> bool:
    """Race; return whether every race had one winner and the exact result."""
    chance = random.Random(seed)  # noqa: S311 - it must be replayable
    stores = Stores(options=course.options)
    alone = look_alone(course, stores)
    ends: Counter[str] = Counter()
    wrong = 0
    with ExitStack() as stack:
        appliers = [stack.enter_context(Applier(course.options)) for _ in range(APPLIERS)]
        for number in range(races):
            plans = course.prepare(f"race-{number}")
            one, other = chance.sample(appliers, APPLIERS)
            is_start = number % 3 == 2
            one.begin("apply", plans[0])
            other.begin(START if is_start else "apply", plans[number % 3 % 2])
            said = [one.wait(), other.wait()]
            ends[alone.display_name(said)] += 1
            is_exact = digest_tree(stores, f"{course.root}/race-{number}") == alone.after
            if not is_exact or not alone.is_fine(said, is_start=is_start):
                wrong += 1
                print(f"  race {number}: {alone.display_name(said)}, exact: {is_exact}", flush=True)
    shown = ", ".join(f"{count} x {each}" for each, count in sorted(ends.items()))
    print(f"{course.root}: {races} races, {wrong} wrong; {shown}", flush=True)
    return not wrong


def main() -> None:
    """Race on disk and on S3."""
    parser = argparse.ArgumentParser()
    parser.add_argument("races", type=int, nargs="?", default=100)
    parser.add_argument("--store", choices=["disk", "s3"])
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--applies", action="store_true", help="be one of the appliers")
    asked = parser.parse_args()
    # A checkpoint that was made just now looks as if a query had written to it.
    with patch.object(movement, "find_movement", return_value=None):
        if asked.applies:
            act_as_told()
        elif not race_everywhere(asked):
            sys.exit(1)


def race_everywhere(asked: argparse.Namespace) -> bool:
    """Race on the stores that were asked for; return whether nothing was wrong."""
    print(f"seed {asked.seed}", flush=True)
    is_fine = True
    with scratch_directory() as scratch:
        if asked.store != "s3":
            course = Course(root=str(scratch / "root"), options={}, scratch=scratch)
            is_fine &= race(course, asked.races, seed=asked.seed)
        if asked.store != "disk":
            with S3() as server:
                options = from_hadoop(server.spark_settings(), bucket="lake")
                course = Course(root="s3a://lake/races", options=options, scratch=scratch)
                is_fine &= race(course, asked.races, seed=asked.seed)
    return is_fine


if __name__ == "__main__":
    main()
